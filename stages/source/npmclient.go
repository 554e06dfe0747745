package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"pgpipeline/pipeline/proc"
)

// npmClient asks the npm program.
type npmClient struct {
	job  *job
	path string
}

// findNPM looks for npm along the search path that children get; "" when there is none. A variable for tests.
var findNPM = func() string {
	for _, kv := range proc.Environ() {
		dirs, ok := strings.CutPrefix(kv, "PATH=")
		if !ok {
			continue
		}
		for _, dir := range filepath.SplitList(dirs) {
			if npm := filepath.Join(dir, "npm"); isProgram(npm) && isProgram(filepath.Join(dir, "node")) {
				return npm
			}
		}
	}
	return ""
}

func isProgram(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0
}

func (c *npmClient) manifest(ctx context.Context, pkg, version string) (npmDist, error) {
	out, err := c.run(ctx, "view", "--json", pkg+"@"+version, "version", "dist")
	if err != nil {
		return npmDist{}, err
	}
	var m npmManifest
	if err := json.Unmarshal(out, &m); err != nil {
		if bytes.HasPrefix(bytes.TrimSpace(out), []byte("[")) {
			err = errors.New("several versions fit; write one of them")
		}
		return npmDist{}, fmt.Errorf("npm view %s@%s: %w", pkg, version, err)
	}
	if m.Version == "" {
		return npmDist{}, fmt.Errorf("npm knows no version %s of %s", version, pkg)
	}
	return m.dist(), nil
}

func (c *npmClient) tarball(ctx context.Context, pkg, version, path string) error {
	dir := filepath.Dir(path)
	c.job.Progress("npm pack", 0, 0)
	out, err := c.run(ctx, "pack", "--json", "--ignore-scripts", "--pack-destination", dir, pkg+"@"+version)
	if err != nil {
		return err
	}
	name, err := packedName(out)
	if err != nil {
		return fmt.Errorf("npm pack %s@%s: %w", pkg, version, err)
	}
	return os.Rename(filepath.Join(dir, name), path)
}

// packedName reads what `npm pack --json` printed; the name that it reports still has the scope's slash in some versions.
func packedName(out []byte) (string, error) {
	var list []struct{ Filename string }
	if err := json.Unmarshal(out, &list); err != nil {
		var byName map[string]struct{ Filename string } // npm 11
		if json.Unmarshal(out, &byName) != nil {
			return "", err
		}
		for _, e := range byName {
			list = append(list, e)
		}
	}
	if len(list) != 1 {
		return "", fmt.Errorf("%d files instead of one", len(list))
	}
	name := strings.ReplaceAll(strings.TrimPrefix(list[0].Filename, "@"), "/", "-")
	return filepath.Base(name), nil
}

// run runs npm in an empty folder, so that no project's .npmrc counts. What the user set for npm in the environment does.
func (c *npmClient) run(ctx context.Context, args ...string) ([]byte, error) {
	var out bytes.Buffer
	cache := filepath.Join(c.job.Scratch, "npm-cache")
	args = append(args, "--cache", cache, "--no-update-notifier", "--loglevel=error", "--logs-max=0",
		"--fetch-retries=2", "--fetch-retry-mintimeout=1000", "--fetch-retry-maxtimeout=5000") // npm's own wait up to a minute
	err := proc.Run(ctx, proc.Cmd{Path: c.path, Args: args, Dir: c.job.Scratch, Env: networkEnv(npmVars()...),
		Stdout: &out, Timeout: 30 * time.Minute})
	if err != nil {
		return nil, npmError(err)
	}
	return out.Bytes(), nil
}

// npmVars are the variables that configure npm (registry, certificates, user configuration), and those that the
// configuration files refer to, which is how tokens are kept out of them.
func npmVars() []string {
	var vars []string
	for _, kv := range os.Environ() {
		if strings.HasPrefix(strings.ToLower(kv), "npm_config_") {
			vars = append(vars, kv)
		}
	}
	for _, file := range npmrcFiles() {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		for _, m := range reference.FindAllSubmatch(text, -1) {
			if value, ok := os.LookupEnv(string(m[1])); ok {
				vars = append(vars, string(m[1])+"="+value)
			}
		}
	}
	return vars
}

var reference = regexp.MustCompile(`\$\{([A-Za-z_][A-Za-z0-9_]*)\??\}`)

// npmError adds what a missing package means, and drops what is about npm's own log files, which are gone by then.
func npmError(err error) error {
	var kept []string
	for line := range strings.Lines(err.Error()) {
		if !strings.Contains(line, "A complete log of this run") && !strings.Contains(line, "Log files were not written") {
			kept = append(kept, strings.TrimRight(line, "\n"))
		}
	}
	if strings.Contains(err.Error(), "E404") {
		kept = append(kept, "the registry has no such package or version")
	}
	return &maskedError{text: strings.Join(kept, "\n"), err: err}
}
