package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"pgpipeline/pipeline/proc"
)

// An aptState is a private apt: the system's programs, keys, proxies and mirror, but indexes, caches and sources of its own
// below one folder. Nothing of the system's is written, so it works without root, and what root does is not seen by apt.
type aptState struct {
	job  *job
	dir  string
	conf string
	// alone are folders with one entry each: all of them share the indexes.
	alone []string
	// expired allows a Release file that is out of date, as those of archived suites are.
	expired bool
	notes   []string
}

// aptConf is read after the system's own configuration. The hooks of the system (package kits, icon caches) would work on
// the wrong state; and whatever the system tolerates, an unsigned index has to be marked as trusted to be used here.
const aptConf = `#clear APT::Update::Pre-Invoke;
#clear APT::Update::Post-Invoke;
#clear APT::Update::Post-Invoke-Success;
#clear DPkg::Post-Invoke;
#clear DPkg::Pre-Invoke;
Dir::State "%[1]s/state";
Dir::State::lists "%[1]s/lists";
Dir::State::status "%[1]s/status";
Dir::Cache "%[1]s/cache";
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "%[1]s/sources";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Log "%[1]s";
Acquire::Languages "none";
Acquire::AllowInsecureRepositories "false";
Acquire::AllowDowngradeToInsecureRepositories "false";
Acquire::Retries "3";
APT::Get::List-Cleanup "false";
APT::Sandbox::User "%[2]s";
`

// aptMore is added to the configuration; for tests.
var aptMore = ""

func newAptState(j *job, main, more []aptEntry) (*aptState, error) {
	dir, err := os.MkdirTemp(j.Scratch, "apt-")
	if err != nil {
		return nil, err
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		return nil, err
	}
	for _, sub := range []string{"state", "lists/partial", "cache/archives/partial", "sources"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	s := &aptState{job: j, dir: dir, conf: filepath.Join(dir, "apt.conf")}
	files := map[string]string{"status": "", "apt.conf": fmt.Sprintf(aptConf, dir, sandboxUser(dir)) + aptMore}
	for i, e := range main {
		s.addEntry(files, fmt.Sprintf("main%d", i), e)
	}
	for i, e := range more {
		s.addEntry(files, fmt.Sprintf("more%d", i), e)
	}
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return nil, err
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// addEntry writes an entry twice: with the others, and in a folder of its own for questions about it alone.
func (s *aptState) addEntry(files map[string]string, name string, e aptEntry) {
	files["sources/"+name+".sources"] = e.deb822()
	files["only/"+name+"/"+name+".sources"] = e.deb822()
	s.alone = append(s.alone, filepath.Join(s.dir, "only", name))
}

// sandboxUser is the account that apt downloads as when it is run by root: its own, unless a folder above is closed to it.
func sandboxUser(dir string) string {
	for d := filepath.Dir(dir); d != "/" && d != "."; d = filepath.Dir(d) {
		if st, err := os.Stat(d); err != nil || st.Mode().Perm()&0o001 == 0 {
			return "root"
		}
	}
	return "_apt"
}

// run runs one of apt's programs on the private state and returns what it prints.
func (s *aptState) run(ctx context.Context, program string, args ...string) (string, error) {
	var out bytes.Buffer
	args = append([]string{"-q", "-c", s.conf}, args...)
	err := proc.Run(ctx, proc.Cmd{Path: program, Args: args, Dir: s.dir, Env: networkEnv("DEBIAN_FRONTEND=noninteractive"),
		Stdout: &out, Timeout: 10 * time.Minute})
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%w; apt:: needs a system of Debian's family", err)
	}
	return out.String(), err
}

var (
	expiredPattern = regexp.MustCompile(`Release file for (\S+) is expired`)
	noKeyPattern   = regexp.MustCompile(`NO_PUBKEY [0-9A-F]+|Missing key [0-9A-F]+`) // gpgv, sqv
	missingPattern = regexp.MustCompile(`The repository '([^']+)' does not have a Release file|404 +Not Found`)
)

// update fetches the signed indexes. What only some suites lack (security updates, mostly) is left out and said.
func (s *aptState) update(ctx context.Context) error {
	s.job.Progress("apt update", 0, 0)
	err := s.updateOnce(ctx)
	if err != nil && s.expired && expiredPattern.MatchString(err.Error()) {
		for _, m := range expiredPattern.FindAllStringSubmatch(err.Error(), -1) {
			s.notes = append(s.notes, fmt.Sprintf("the signed index %s is past its date, as those of archived suites are; it is used all the same", m[1]))
		}
		s.notes = slices.Compact(s.notes)
		err = s.updateOnce(ctx, "-o", "Acquire::Check-Valid-Until=false")
	}
	if err == nil || ctx.Err() != nil {
		return err
	}
	optional, _ := filepath.Glob(filepath.Join(s.dir, "sources", "more*"))
	if len(optional) == 0 {
		return aptAdvice(err)
	}
	for _, f := range blamed(optional, err.Error()) {
		if err := os.Remove(f); err != nil {
			return err
		}
	}
	if second := s.update(ctx); second != nil {
		return second
	}
	s.notes = append(s.notes, "an index of updates or security fixes could not be had: "+aptComplaint(err))
	return nil
}

// blamed are the optional entries whose suite the error names, or all of them.
func blamed(optional []string, complaint string) []string {
	var out []string
	for _, f := range optional {
		text, _ := os.ReadFile(f)
		if m := suiteLine.FindSubmatch(text); m != nil && strings.Contains(complaint, " "+string(m[1])+" ") {
			out = append(out, f)
		}
	}
	if len(out) == 0 {
		return optional
	}
	return out
}

var suiteLine = regexp.MustCompile(`(?m)^Suites: (\S+)$`)

func (s *aptState) updateOnce(ctx context.Context, args ...string) error {
	_, err := s.run(ctx, "apt-get", append(args, "-o", "APT::Update::Error-Mode=any", "update")...)
	return err
}

// aptComplaint is the first line of apt's that says what is wrong.
func aptComplaint(err error) string {
	for line := range strings.Lines(err.Error()) {
		for _, prefix := range []string{"E: ", "W: ", "Error: ", "Warning: "} {
			if text, ok := strings.CutPrefix(line, prefix); ok {
				return strings.TrimSpace(text)
			}
		}
	}
	return err.Error()
}

// aptAdvice adds what to do about the usual troubles.
func aptAdvice(err error) error {
	text := err.Error()
	advice := ""
	switch {
	case noKeyPattern.MatchString(text):
		advice = "the system has no key for that suite yet: apt-get install --only-upgrade debian-archive-keyring"
	case expiredPattern.MatchString(text):
		advice = "the mirror is stale or this machine's clock is wrong; for an archived suite name it: ?suite=NAME"
	case strings.Contains(text, "is not valid yet"):
		advice = "this machine's clock is behind"
	case missingPattern.MatchString(text):
		advice = "the system's mirror does not have this suite"
	case strings.Contains(text, "Could not resolve") || strings.Contains(text, "Could not connect"):
		advice = "the mirror of /etc/apt cannot be reached"
	default:
		return err
	}
	return fmt.Errorf("%w\n%s", err, advice)
}

// A sourceFile is one file of a source package, as the signed index lists it.
type sourceFile struct {
	name   string
	uri    string
	sha256 string
}

var printedURI = regexp.MustCompile(`(?m)^'([^']+)' (\S+) (\d+) SHA256:([0-9a-f]{64})`)

// files asks apt where the files of one version are: everywhere (from is ""), or in one of the folders in alone. Where
// several places have the same version, apt names one of them.
func (s *aptState) files(ctx context.Context, pkg, version, from string) ([]sourceFile, error) {
	args := []string{"--print-uris", "--only-source", "source", pkg + "=" + version}
	if from != "" {
		args = append([]string{"-o", "Dir::Etc::sourceparts=" + from}, args...)
	}
	out, err := s.run(ctx, "apt-get", args...)
	if err != nil {
		return nil, err
	}
	var list []sourceFile
	for _, m := range printedURI.FindAllStringSubmatch(out, -1) {
		list = append(list, sourceFile{uri: m[1], name: m[2], sha256: m[4]})
	}
	return list, nil
}

// versions are what the index lists for a source package, newest first.
func (s *aptState) versions(ctx context.Context, pkg string) ([]string, error) {
	out, err := s.run(ctx, "apt-cache", "--only-source", "showsrc", pkg)
	if err != nil && !strings.Contains(err.Error(), "Unable to locate") && !strings.Contains(err.Error(), "Unable to find") {
		return nil, err
	}
	blocks, err := paragraphs(strings.NewReader(out))
	if err != nil {
		return nil, err
	}
	var list []string
	for _, b := range blocks {
		if b["package"] == pkg {
			list = append(list, b["version"])
		}
	}
	slices.SortFunc(list, func(a, b string) int { return compareDebian(b, a) })
	return slices.Compact(list), nil
}
