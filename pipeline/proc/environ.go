package proc

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// searchPath is where children find programs: the system's own directories, whatever the user's shell has.
const searchPath = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"

// Environ returns the environment that children get: a fixed search path, locale and time zone, the home and temporary
// directories, and extra ("KEY=value"), which wins over the fixed part. Nothing else of the tool's own environment is
// passed on, so that a build or a measurement does not depend on the shell it was started from.
func Environ(extra ...string) []string {
	env := []string{
		"PATH=" + searchPath,
		"LANG=C.UTF-8",
		"LC_ALL=C",
		"TZ=UTC",
		"HOME=" + ownHome(),
		"TMPDIR=" + os.TempDir(),
	}
	for _, kv := range extra {
		env = setVar(env, kv)
	}
	return env
}

func ownHome() string {
	if dir, err := os.UserHomeDir(); err == nil {
		return dir
	}
	return "/"
}

// setVar adds kv to env in place of an earlier value of the same variable.
func setVar(env []string, kv string) []string {
	name, _, _ := strings.Cut(kv, "=")
	at := slices.IndexFunc(env, func(s string) bool { return strings.HasPrefix(s, name+"=") })
	if at < 0 {
		return append(env, kv)
	}
	env[at] = kv
	return env
}

func getVar(env []string, name string) string {
	for _, kv := range slices.Backward(env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// childEnv is the environment as the child gets it: never nil (os/exec would pass on our own), and with the home
// directory of the account it runs as, because ours is closed to it.
func childEnv(env []string, as *Account) []string {
	out := append([]string{}, env...)
	if as != nil && getVar(out, "HOME") == ownHome() {
		out = setVar(out, "HOME="+as.Home)
	}
	return out
}

// findProgram resolves a bare name along the PATH of the child's environment, not along ours.
func findProgram(name string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		return name, nil
	}
	for _, dir := range filepath.SplitList(getVar(env, "PATH")) {
		path := filepath.Join(dir, name)
		if st, err := os.Stat(path); err == nil && st.Mode().IsRegular() && st.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w in %s", name, os.ErrNotExist, getVar(env, "PATH"))
}
