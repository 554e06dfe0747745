package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
)

const canary = "c4nary-51a7e"

// talker has a secret and tells it in every way that a stage can.
type talker struct {
	lab  *lab
	From string `yaml:"from" doc:"what to make"`
	fail bool
}

func (s *talker) Secrets() []string { return []string{canary} }

func (s *talker) Run(ctx context.Context, env *engine.Env) error {
	fmt.Fprint(env.Log, "a log in pieces: "+canary[:4])
	fmt.Fprint(env.Log, canary[4:]+"\nand without an end: "+canary)
	env.Warn("a warning with %s", canary)
	env.Fact("a fact", "with "+canary)
	if s.fail {
		return errors.New("an error with " + canary)
	}
	return s.lab.work("source", env, s.From)
}

// TestSecretsAreHidden looks for a secret in everything that a run writes and tells.
func TestSecretsAreHidden(t *testing.T) {
	for _, fails := range []bool{false, true} {
		t.Run(fmt.Sprintf("fails: %v", fails), func(t *testing.T) {
			l := newLab(t)
			l.kinds[0].New = func() engine.Stage { return &talker{lab: l, fail: fails} }
			l.block = func(env *engine.Env) error {
				fmt.Fprintln(env.Log, "a block's log:", canary)
				env.Warn("a block's warning: %s", canary)
				env.Record(engine.Measurement{Step: "read", Variant: "a", Invalid: "because of " + canary})
				return errors.New("a block's error: " + canary)
			}
			var told []engine.Event
			rec, err := l.run(labFile, engine.RunOptions{Sink: func(e engine.Event) { told = append(told, e) }})
			if err == nil || !strings.Contains(err.Error(), canary) {
				t.Fatalf("the error that is told last: %v", err) // whoever prints it hides it
			}
			rec.Blocks = nil // in memory only; on disk they are searched below
			for what, value := range map[string]any{"events": told, "record": rec} {
				text, err := json.Marshal(value)
				if err != nil || strings.Contains(string(text), canary) || !strings.Contains(string(text), "***") {
					t.Errorf("%s: %v\n%s", what, err, text)
				}
			}
			searched, hidden := search(t, l.dir)
			if searched < 8 || hidden < 2 {
				t.Errorf("%d files were searched, in %d something is hidden", searched, hidden)
			}
		})
	}
}

// search wants no file with the secret and counts those with something in its place.
func search(t *testing.T, dir string) (searched, hidden int) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if strings.Contains(string(text), canary) {
			t.Errorf("%s: %s", path, text)
		}
		searched++
		if strings.Contains(string(text), "***") {
			hidden++
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return searched, hidden
}
