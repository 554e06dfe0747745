package source

import (
	"net/url"
	"regexp"
	"strings"
)

const masked = "***"

// secretParam matches names of query parameters whose values do not belong in a log or a lock file.
var secretParam = regexp.MustCompile(`(?i)(token|passw|secret|signature|credential|api[-_]?key|auth|^key$|^sig$|sshkey)`)

// userinfo matches what stands before the @ of an address; the password may hold anything but a slash.
var userinfo = regexp.MustCompile(`([A-Za-z][A-Za-z0-9+.-]*://)([^/@\s'"]+)@`)

// Mask replaces what is secret in an address: passwords, tokens in place of a user name, and the values of query
// parameters that are named like one. Text that is no address is returned as it is.
func Mask(address string) string {
	address = userinfo.ReplaceAllStringFunc(address, func(m string) string {
		parts := userinfo.FindStringSubmatch(m)
		user, _, hasPassword := strings.Cut(parts[2], ":")
		if !hasPassword {
			if strings.HasPrefix(parts[1], "ssh") || user == "git" {
				return m
			}
			return parts[1] + masked + "@"
		}
		return parts[1] + user + ":" + masked + "@"
	})
	base, query, ok := strings.Cut(address, "?")
	if !ok {
		return address
	}
	params := strings.Split(query, "&")
	for i, p := range params {
		if name, _, ok := strings.Cut(p, "="); ok && secretParam.MatchString(name) {
			params[i] = name + "=" + masked
		}
	}
	return base + "?" + strings.Join(params, "&")
}

// secretsOf lists the secret values in an address, as written and decoded, so that they can be masked wherever they turn up.
func secretsOf(address string) []string {
	var out []string
	add := func(v string) {
		if len(v) < 4 { // masking a short value would mutilate ordinary words
			return
		}
		out = append(out, v)
		if plain, err := url.QueryUnescape(v); err == nil && plain != v {
			out = append(out, plain)
		}
		if plain, err := url.PathUnescape(v); err == nil && plain != v {
			out = append(out, plain)
		}
	}
	for _, m := range userinfo.FindAllStringSubmatch(address, -1) {
		user, password, hasPassword := strings.Cut(m[2], ":")
		switch {
		case hasPassword:
			add(password)
		case !strings.HasPrefix(m[1], "ssh") && user != "git":
			add(user)
		}
	}
	if _, query, ok := strings.Cut(address, "?"); ok {
		for _, p := range strings.Split(query, "&") {
			if name, v, ok := strings.Cut(p, "="); ok && secretParam.MatchString(name) {
				add(v)
			}
		}
	}
	return out
}

// masker masks by value: an error of a library or a child process may hold a secret in any place.
type masker struct{ secrets []string }

func newMasker(addresses []string) *masker {
	m := &masker{}
	for _, a := range addresses {
		m.secrets = append(m.secrets, secretsOf(a)...)
	}
	return m
}

func (m *masker) text(s string) string {
	for _, secret := range m.secrets {
		s = strings.ReplaceAll(s, secret, masked)
	}
	return s
}

// error keeps the chain of err for errors.Is and shows it masked.
func (m *masker) error(err error) error {
	if err == nil || m.text(err.Error()) == err.Error() {
		return err
	}
	return &maskedError{text: m.text(err.Error()), err: err}
}

type maskedError struct {
	text string
	err  error
}

func (e *maskedError) Error() string { return e.text }
func (e *maskedError) Unwrap() error { return e.err }
