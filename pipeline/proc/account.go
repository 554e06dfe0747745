package proc

import (
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"
)

// Account is the user that a child runs as.
type Account struct {
	Name     string
	UID, GID uint32
	Home     string
}

// candidates are tried in order when the tool runs as root and $PIPELINE_USER is not set.
var candidates = []string{"postgres", "nobody"}

// Unprivileged returns the account for builds and servers: nil when the tool does not run as root (children then run as
// the same user), else $PIPELINE_USER, "postgres" or "nobody". PostgreSQL refuses to run as root.
func Unprivileged() (*Account, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	if name := os.Getenv("PIPELINE_USER"); name != "" {
		acc, err := lookup(name)
		if err != nil {
			return nil, fmt.Errorf("account in PIPELINE_USER: %w", err)
		}
		return acc, nil
	}
	for _, name := range candidates {
		if acc, err := lookup(name); err == nil {
			return acc, nil
		}
	}
	return nil, errors.New("no account to run servers and builds as: running as root, and there is neither a user " +
		`"postgres" nor "nobody"; create one (useradd --system pipeline) and set PIPELINE_USER=pipeline`)
}

func lookup(name string) (*Account, error) {
	u, err := user.Lookup(name)
	if err != nil {
		return nil, fmt.Errorf("user %q does not exist; create it or name another", name)
	}
	uid, err := strconv.ParseUint(u.Uid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %q has the user id %q: %w", name, u.Uid, err)
	}
	gid, err := strconv.ParseUint(u.Gid, 10, 32)
	if err != nil {
		return nil, fmt.Errorf("user %q has the group id %q: %w", name, u.Gid, err)
	}
	if uid == 0 {
		return nil, fmt.Errorf("user %q is root, which PostgreSQL refuses; name an unprivileged user", name)
	}
	return &Account{Name: name, UID: uint32(uid), GID: uint32(gid), Home: home(u.HomeDir)}, nil
}

// home replaces a home directory that does not exist, as nobody's.
func home(dir string) string {
	if st, err := os.Stat(dir); err != nil || !st.IsDir() {
		return "/"
	}
	return dir
}
