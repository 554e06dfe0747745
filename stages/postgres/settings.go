package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"pgpipeline/pipeline/proc"
)

// Setting is one setting of a server.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// SettingError says why a server refuses one setting. Nothing has been started when it is returned.
type SettingError struct {
	Name, Value string
	Unknown     bool   // the server does not know the name; else it refuses the value
	Msg         string // in the server's words where it gave any
	Hint        string // its hint, or a name that was probably meant
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("setting %s = %q: %s", e.Name, e.Value, e.Reason())
}

// Unsupported says whether the setting or its value is one that other versions or builds take, as opposed to a value
// that is out of range or has the wrong unit.
func (e *SettingError) Unsupported() bool {
	return e.Unknown || strings.HasPrefix(e.Hint, "Available values:") || strings.HasSuffix(e.Msg, "requires a Boolean value") ||
		strings.HasPrefix(e.Hint, hintContrib)
}

// Reason is what is wrong, without the setting's name and value in front.
func (e *SettingError) Reason() string {
	if e.Hint == "" {
		return e.Msg
	}
	return e.Msg + " (" + e.Hint + ")"
}

// hintContrib begins the hint about a library that is missing.
const hintContrib = "build it with contrib"

// Conf renders settings in the format of postgresql.conf, in the order given.
func Conf(settings []Setting) string {
	var b strings.Builder
	for _, s := range settings {
		fmt.Fprintf(&b, "%s = '%s'\n", s.Name, strings.NewReplacer("'", "''", `\`, `\\`).Replace(s.Value))
	}
	return b.String()
}

// CheckSettings asks the server's own parser about settings: unknown names, values out of range, wrong units, values that
// this version or this build does not support. It returns nil or the joined *SettingErrors, one for each bad setting, and
// costs one start of the binary, two or three when something is wrong. What only a running server can find out (that
// there is no memory for shared_buffers, or no huge pages) is left to Start.
func (i Install) CheckSettings(ctx context.Context, settings []Setting) error {
	if len(settings) == 0 {
		return nil
	}
	c, err := newChecker(i)
	if err != nil {
		return fmt.Errorf("check settings: %w", err)
	}
	defer os.RemoveAll(c.dir)
	bad, err := c.check(ctx, settings)
	if err != nil {
		return fmt.Errorf("check settings with server %s: %w", i.Version, err)
	}
	bad = append(bad, i.missingLibraries(settings)...)
	errs := make([]error, len(bad))
	for n, b := range bad {
		errs[n] = b
	}
	return errors.Join(errs...)
}

// checker runs the server binary on a directory that holds nothing but a postgresql.conf. With -C it reads the file,
// prints a value and ends, before it looks for data.
type checker struct {
	install Install
	as      *proc.Account
	dir     string
}

func newChecker(i Install) (*checker, error) {
	as, err := proc.Unprivileged()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "pgcheck")
	if err != nil {
		return nil, err
	}
	if err := give(dir, as); err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return &checker{install: i, as: as, dir: dir}, nil
}

func (c *checker) check(ctx context.Context, settings []Setting) ([]*SettingError, error) {
	ok, lines, err := c.parse(ctx, settings)
	if ok || err != nil {
		return nil, err
	}
	var bad []*SettingError
	good := settings
	// The parser stops after unknown names and looks at values only when there are none.
	if unknown := unknownNames(lines); len(unknown) > 0 {
		bad, good, err = c.sortOut(ctx, settings, unknown)
		if err != nil {
			return nil, err
		}
		if ok, lines, err = c.parse(ctx, good); ok || err != nil {
			return bad, err
		}
	}
	refused := valueErrors(lines, good)
	if len(refused) > 0 {
		return append(bad, refused...), nil
	}
	refused, err = c.oneByOne(ctx, good)
	if err == nil && len(refused) == 0 {
		err = errors.New(strings.Join(lines, "\n"))
	}
	return append(bad, refused...), err
}

// parse reports whether the server takes the settings, and what it said.
func (c *checker) parse(ctx context.Context, settings []Setting) (ok bool, lines []string, err error) {
	path := filepath.Join(c.dir, "postgresql.conf")
	if err := os.WriteFile(path, []byte(Conf(settings)), 0o600); err != nil {
		return false, nil, err
	}
	if err := give(path, c.as); err != nil {
		return false, nil, err
	}
	tail := proc.NewTail(len(settings)*3+20, nil)
	err = proc.Run(ctx, proc.Cmd{
		Path: c.install.program("postgres"), Args: []string{"-C", "data_directory", "-D", c.dir},
		Env: proc.Environ(), As: c.as, Stderr: tail, Timeout: time.Minute,
	})
	if err == nil {
		return true, nil, nil
	}
	lines = tail.Lines()
	if ctx.Err() != nil || !strings.Contains(strings.Join(lines, "\n"), "contains errors") {
		return false, lines, err
	}
	return false, lines, nil
}

var unknownPattern = regexp.MustCompile(`unrecognized configuration parameter "([^"]+)"`)

func unknownNames(lines []string) map[string]bool {
	names := map[string]bool{}
	for _, line := range lines {
		if m := unknownPattern.FindStringSubmatch(line); m != nil {
			names[strings.ToLower(m[1])] = true
		}
	}
	return names
}

// sortOut makes errors of the unknown names, with the nearest name that the server has.
func (c *checker) sortOut(ctx context.Context, all []Setting, unknown map[string]bool) (bad []*SettingError, good []Setting, err error) {
	names, err := c.install.SettingNames(ctx)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range all {
		if !unknown[strings.ToLower(s.Name)] {
			good = append(good, s)
			continue
		}
		e := &SettingError{Name: s.Name, Value: s.Value, Unknown: true, Msg: "server " + c.install.Version + " has no such setting"}
		if near := nearest(s.Name, names); near != "" {
			e.Hint = fmt.Sprintf("did you mean %q?", near)
		}
		bad = append(bad, e)
	}
	return bad, good, nil
}

var quotedPattern = regexp.MustCompile(`parameter "([^"]+)"`)

// valueErrors finds the settings that the server's messages name, with the hint that follows.
func valueErrors(lines []string, settings []Setting) []*SettingError {
	values := map[string]Setting{}
	for _, s := range settings {
		values[strings.ToLower(s.Name)] = s
	}
	var out []*SettingError
	for _, line := range lines {
		m := linePattern.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] == "HINT" && len(out) > 0 {
			out[len(out)-1].Hint = m[2]
			continue
		}
		name := quotedPattern.FindStringSubmatch(m[2])
		if m[1] != "LOG" || name == nil {
			continue
		}
		if s, ok := values[strings.ToLower(name[1])]; ok {
			out = append(out, &SettingError{Name: s.Name, Value: s.Value, Msg: m[2]})
		}
	}
	return out
}

// oneByOne finds the culprits when the messages do not name them, as those of some check functions.
func (c *checker) oneByOne(ctx context.Context, settings []Setting) ([]*SettingError, error) {
	var out []*SettingError
	for _, s := range settings {
		ok, lines, err := c.parse(ctx, []Setting{s})
		if err != nil {
			return out, err
		}
		if ok {
			continue
		}
		e := &SettingError{Name: s.Name, Value: s.Value, Msg: "the server refuses it"}
		for _, line := range lines {
			if m := linePattern.FindStringSubmatch(line); m != nil && m[1] == "LOG" && !strings.Contains(line, "skipping missing") {
				e.Msg = m[2]
			}
		}
		out = append(out, e)
	}
	return out, nil
}

// missingLibraries finds preloaded libraries that the install tree does not have: the parser takes any name.
func (i Install) missingLibraries(settings []Setting) []*SettingError {
	var out []*SettingError
	for _, s := range settings {
		if !strings.EqualFold(s.Name, "shared_preload_libraries") {
			continue
		}
		for _, lib := range strings.FieldsFunc(s.Value, func(r rune) bool { return r == ',' || r == ' ' || r == '"' }) {
			if !strings.Contains(lib, "/") && !i.hasLibrary(lib) {
				out = append(out, &SettingError{Name: s.Name, Value: s.Value,
					Msg: fmt.Sprintf("server %s has no library %q", i.Version, lib), Hint: hintContrib + ", or leave it out"})
			}
		}
	}
	return out
}

func (i Install) hasLibrary(name string) bool {
	prefix := filepath.Dir(i.BinDir)
	for _, sub := range []string{"lib/postgresql", "lib", "lib64/postgresql", "lib64", "lib/x86_64-linux-gnu/postgresql"} {
		if _, err := os.Stat(filepath.Join(prefix, sub, name+".so")); err == nil {
			return true
		}
	}
	return false
}
