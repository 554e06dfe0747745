package source

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
)

const publicRegistry = "https://registry.npmjs.org/"

// npmrc is what npm's configuration files say, later files winning.
type npmrc map[string]string

// npmrcFiles are the global files and the user's, which wins.
func npmrcFiles() []string {
	files := []string{"/etc/npmrc", "/usr/etc/npmrc", "/usr/local/etc/npmrc"}
	for _, kv := range os.Environ() {
		if name, value, _ := strings.Cut(kv, "="); strings.EqualFold(name, "npm_config_userconfig") {
			return append(files, value)
		}
	}
	if home, err := os.UserHomeDir(); err == nil {
		files = append(files, filepath.Join(home, ".npmrc"))
	}
	return files
}

// loadNpmrc reads the files, then the environment, as npm does.
func loadNpmrc() (npmrc, error) {
	conf := npmrc{}
	for _, name := range npmrcFiles() {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		err = conf.read(f)
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
	}
	for _, kv := range os.Environ() {
		name, value, _ := strings.Cut(kv, "=")
		if key, ok := strings.CutPrefix(strings.ToLower(name), "npm_config_"); ok {
			conf[strings.ReplaceAll(key, "_", "-")] = value
		}
	}
	return conf, nil
}

// read parses "key = value" lines; ${NAME} in a value is that variable.
func (c npmrc) read(r io.Reader) error {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' || line[0] == ';' {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			continue
		}
		value = strings.Trim(strings.TrimSpace(value), `"'`)
		c[strings.TrimSpace(name)] = expandBraces(value)
	}
	return lines.Err()
}

// expandBraces replaces ${NAME}; a bare $ is left alone, because passwords have them.
func expandBraces(s string) string {
	for from := 0; ; {
		i := strings.Index(s[from:], "${")
		if i < 0 {
			return s
		}
		i += from
		end := strings.IndexByte(s[i:], '}')
		if end < 0 {
			return s
		}
		value, ok := os.LookupEnv(s[i+2 : i+end])
		if !ok {
			from = i + end
			continue
		}
		s, from = s[:i]+value+s[i+end+1:], i+len(value)
	}
}

// registry is the address of the registry for a package, with a slash at its end. A scope may have its own.
func (c npmrc) registry(pkg string) string {
	addr := c["registry"]
	if scope, _, ok := strings.Cut(pkg, "/"); ok && c[scope+":registry"] != "" {
		addr = c[scope+":registry"]
	}
	if addr == "" {
		addr = publicRegistry
	}
	return strings.TrimSuffix(addr, "/") + "/"
}

// client is an HTTP client with the certificates and proxies of the configuration. It sends the token to its registry only.
func (c npmrc) client(pkg string) (*http.Client, error) {
	client := newHTTPClient(c.proxy)
	transport := client.Transport.(statusTransport).next.(*http.Transport)
	if file := c["cafile"]; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("cafile of npmrc: %w", err)
		}
		pool := x509.NewCertPool()
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("cafile of npmrc: %s has no certificates", file)
		}
		transport.TLSClientConfig = &tls.Config{RootCAs: pool}
	}
	if registry, err := url.Parse(c.registry(pkg)); err == nil {
		if token := c.token(registry); token != "" {
			client.Transport = tokenTransport{client.Transport, registry, token}
		}
	}
	return client, nil
}

func (c npmrc) proxy(req *http.Request) (*url.URL, error) {
	value := c["proxy"]
	if req.URL.Scheme == "https" && c["https-proxy"] != "" {
		value = c["https-proxy"]
	}
	if value == "" || value == "null" || value == "false" {
		return http.ProxyFromEnvironment(req)
	}
	return url.Parse(value)
}

// token looks for "//host/path/:_authToken", from the registry's path upwards.
func (c npmrc) token(registry *url.URL) string {
	path := "//" + registry.Host + registry.Path
	for {
		if t := c[path+":_authToken"]; t != "" {
			return t
		}
		i := strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')
		if i < 2 {
			return ""
		}
		path = path[:i+1]
	}
}

type tokenTransport struct {
	next     http.RoundTripper
	registry *url.URL
	token    string
}

func (t tokenTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Host == t.registry.Host && req.URL.Scheme == t.registry.Scheme {
		req = req.Clone(req.Context())
		req.Header.Set("Authorization", "Bearer "+t.token)
	}
	return t.next.RoundTrip(req)
}
