package source

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pgpipeline/pipeline/proc"
)

// npmClient asks the npm program.
type npmClient struct {
	job  *job
	path string
}

// npmPath is where npm is looked for: the search path that children get.
func findNPM() string {
	for _, kv := range proc.Environ() {
		if dirs, ok := strings.CutPrefix(kv, "PATH="); ok {
			for _, dir := range filepath.SplitList(dirs) {
				npm, node := filepath.Join(dir, "npm"), filepath.Join(dir, "node")
				if _, err := os.Stat(npm); err != nil {
					continue
				}
				if _, err := os.Stat(node); err == nil {
					return npm
				}
			}
		}
	}
	return ""
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
	args = append(args, "--cache", cache, "--no-update-notifier", "--loglevel=error")
	err := proc.Run(ctx, proc.Cmd{Path: c.path, Args: args, Dir: c.job.Scratch, Env: networkEnv(npmVars()...),
		Stdout: &out, Timeout: 30 * time.Minute})
	if err != nil {
		return nil, npmError(err)
	}
	return out.Bytes(), nil
}

// npmVars are the variables that configure npm: registry, certificates, user configuration. The rest of npm's variables
// belong to scripts that npm runs, among them the tool itself when a script starts it.
func npmVars() []string {
	var vars []string
	for _, kv := range os.Environ() {
		if name := strings.ToLower(kv); strings.HasPrefix(name, "npm_config_") {
			vars = append(vars, kv)
		}
	}
	return vars
}

// npmError keeps the lines that say something.
func npmError(err error) error {
	if strings.Contains(err.Error(), "E404") {
		return fmt.Errorf("%w\nthe registry has no such package or version", err)
	}
	return err
}
