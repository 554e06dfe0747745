package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"pgpipeline/pipeline/proc"
)

// The scripts in testdata/script drive the command line as a user would: every line is a command, its output is compared with
// files in the script. `pipeline` is this test binary.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"pipeline": main,
	})
}

func TestScripts(t *testing.T) {
	if _, err := os.Stat("/usr/lib/postgresql"); err != nil && os.Getenv("PIPELINE_SKIP_SERVERS") == "" {
		t.Fatal("no PostgreSQL of the distribution: apt-get install postgresql, or set PIPELINE_SKIP_SERVERS")
	}
	// Scratch below /tmp that the unprivileged account can enter: the default of go test is closed to it.
	root, err := os.MkdirTemp("/tmp", "pipeline-script-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { removeAll(t, root) })
	if err := os.Chmod(root, 0o755); err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", WorkdirRoot: root, RequireUniqueNames: true,
		UpdateScripts: os.Getenv("UPDATE_SCRIPTS") != "",
		Setup:         setUpScript,
		Condition: func(cond string) (bool, error) {
			return cond == "servers" && os.Getenv("PIPELINE_SKIP_SERVERS") == "", nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"edit": edit, "exits": exits, "recorded": recorded},
	})
}

// setUpScript gives every script its own cache and machine lock.
func setUpScript(env *testscript.Env) error {
	for d := env.WorkDir; d != "/" && d != "/tmp"; d = filepath.Dir(d) {
		if err := os.Chmod(d, 0o755); err != nil {
			return err
		}
	}
	cache := filepath.Join(env.WorkDir, ".cache")
	env.Setenv("PIPELINE_CACHE", cache)
	env.Setenv("PIPELINE_LOCK_DIR", env.WorkDir)
	env.Setenv("HOME", env.WorkDir)
	env.Setenv("CI", "true")
	env.Setenv("NO_COLOR", "1")
	env.Setenv("PIPELINE_USER", os.Getenv("PIPELINE_USER"))
	return nil
}

// removeAll also removes the read-only entries of a cache.
func removeAll(t *testing.T, dir string) {
	if who, _ := proc.Unprivileged(); who == nil { // root needs no chmod
		exec.Command("chmod", "-R", "u+w", dir).Run()
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Error(err)
	}
}

// edit FILE OLD NEW replaces the only occurrence of OLD.
func edit(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 3 {
		ts.Fatalf("usage: edit FILE OLD NEW")
	}
	text := ts.ReadFile(args[0])
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(replaceOnce(ts, text, args[1], args[2])), 0o644))
}

func replaceOnce(ts *testscript.TestScript, text, old, new string) string {
	if n := strings.Count(text, old); n != 1 {
		ts.Fatalf("%q occurs %d times", old, n)
	}
	return strings.Replace(text, old, new, 1)
}

// exits CODE PROGRAM ARGS... wants that exit code; stdout and stderr are those of the program.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		code = exit.ExitCode()
	} else if err != nil {
		ts.Fatalf("%v", err)
	}
	if fmt.Sprint(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}
