package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"pgpipeline/pipeline/proc"
)

// User is the name of the superuser of every data directory.
const User = "pipeline"

// InitOptions are what the caller may choose about an empty data directory.
type InitOptions struct {
	// Options of initdb, such as "--data-checksums" or "--wal-segsize=64". See CheckInitOptions.
	Options []string
	NoSync  bool // leave the files to the page cache; for tests
	As      *proc.Account
	Log     io.Writer
}

// reservedInitOptions are decided here: where the data lies, who may connect, and the locale and encoding that make
// measurements comparable between machines.
var reservedInitOptions = map[string]string{
	"D": "pgdata", "pgdata": "pgdata", "U": "username", "username": "username", "A": "auth", "auth": "auth",
	"auth-local": "auth", "auth-host": "auth", "W": "pwprompt", "pwprompt": "pwprompt", "pwfile": "pwfile",
	"X": "waldir", "waldir": "waldir", "s": "show", "show": "show", "S": "sync-only", "sync-only": "sync-only",
	"L": "lc-path", "n": "no-clean", "no-clean": "no-clean", "d": "debug", "debug": "debug",
	"V": "version", "version": "version", "?": "help", "help": "help",
}

// CheckInitOptions refuses options that the tool decides, and what is no option at all. What a version of initdb knows
// is found out by running it.
func CheckInitOptions(options []string) error {
	for _, option := range options {
		name, _, _ := strings.Cut(strings.TrimLeft(option, "-"), "=")
		if !strings.HasPrefix(option, "-") || name == "" {
			return fmt.Errorf("initdb option %q: an option begins with --; give its value after an equals sign", option)
		}
		if !strings.HasPrefix(option, "--") {
			name = name[:1]
		}
		if decided, ok := reservedInitOptions[name]; ok {
			return fmt.Errorf("initdb option %q: %s is decided by the tool and cannot be given", option, decided)
		}
	}
	return nil
}

// InitDB makes dataDir with initdb: encoding UTF8, locale C unless an option says otherwise, superuser User.
func (i Install) InitDB(ctx context.Context, dataDir string, opts InitOptions) error {
	if err := CheckInitOptions(opts.Options); err != nil {
		return err
	}
	as, err := account(opts.As)
	if err != nil {
		return err
	}
	if err := makePrivateDir(dataDir, as); err != nil {
		return fmt.Errorf("initdb: %w", err)
	}
	args := []string{"-D", dataDir, "-U", User, "--auth=peer", "--encoding=UTF8", "--locale=C"}
	if opts.NoSync {
		args = append(args, "--no-sync")
	}
	tail := proc.NewTail(20, opts.Log)
	err = proc.Run(ctx, proc.Cmd{
		Path: i.program("initdb"), Args: append(args, opts.Options...), Env: proc.Environ(), As: as,
		Stdout: opts.Log, Stderr: tail, Timeout: 10 * time.Minute,
	})
	if err != nil {
		return errors.Join(initError(err, dataDir, as), os.RemoveAll(dataDir))
	}
	return nil
}

// initError adds what is behind the message that users meet most.
func initError(err error, dataDir string, as *proc.Account) error {
	if as != nil && strings.Contains(err.Error(), "Permission denied") {
		return fmt.Errorf("%w\nevery directory above %s must be open to the user %q (chmod a+x)", err, dataDir, as.Name)
	}
	return err
}

// makePrivateDir makes an empty directory that only the account can enter.
func makePrivateDir(dir string, as *proc.Account) error {
	if err := os.Mkdir(dir, 0o700); err != nil {
		if entries, _ := os.ReadDir(dir); !errors.Is(err, os.ErrExist) || len(entries) > 0 {
			return err
		}
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return err
	}
	if err := give(dir, as); err != nil {
		return fmt.Errorf("hand %s to the user %q: %w", filepath.Base(dir), as.Name, err)
	}
	return nil
}
