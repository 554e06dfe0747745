package source

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// An aptEntry is one place that the system gets packages from: one paragraph of a .sources file, or one line of a .list.
type aptEntry struct {
	uris, suites, components []string
	signedBy                 string // a path, or a key block
	trusted                  bool   // the administrator vouches for it: its index is not signed
}

// aptFiles are where apt looks; a variable for tests.
var aptFiles = func() []string {
	files := []string{"/etc/apt/sources.list"}
	for _, pattern := range []string{"*.list", "*.sources"} {
		found, _ := filepath.Glob("/etc/apt/sources.list.d/" + pattern)
		files = append(files, found...)
	}
	return files
}

// systemEntries reads every place that apt gets binary or source packages from.
func systemEntries(files []string) ([]aptEntry, error) {
	var out []aptEntry
	for _, name := range files {
		f, err := os.Open(name)
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		var found []aptEntry
		if strings.HasSuffix(name, ".sources") {
			found, err = parseDeb822(f)
		} else {
			found, err = parseSourcesList(f)
		}
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		out = append(out, found...)
	}
	return out, nil
}

// parseSourcesList reads "deb [signed-by=KEY] URI SUITE COMPONENT..." lines.
func parseSourcesList(r io.Reader) ([]aptEntry, error) {
	var out []aptEntry
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		text, _, _ := strings.Cut(lines.Text(), "#")
		fields := strings.Fields(text)
		if len(fields) == 0 || fields[0] != "deb" && fields[0] != "deb-src" {
			continue
		}
		fields = fields[1:]
		e := aptEntry{}
		if len(fields) > 0 && strings.HasPrefix(fields[0], "[") {
			for len(fields) > 0 {
				option := strings.Trim(fields[0], "[]")
				last := strings.HasSuffix(fields[0], "]")
				fields = fields[1:]
				e.option(option)
				if last {
					break
				}
			}
		}
		if len(fields) < 2 {
			return nil, fmt.Errorf("line %q: an address and a suite are missing", strings.TrimSpace(text))
		}
		e.uris, e.suites, e.components = fields[:1], fields[1:2], fields[2:]
		out = append(out, e)
	}
	return out, lines.Err()
}

func (e *aptEntry) option(text string) {
	name, value, _ := strings.Cut(text, "=")
	switch name {
	case "signed-by":
		e.signedBy = value
	case "trusted":
		e.trusted = value == "yes"
	}
}

// A paragraph is one RFC 822 style block: field name in lower case -> value; further lines are joined by newlines.
type paragraph map[string]string

// paragraphs reads blocks that are separated by empty lines.
func paragraphs(r io.Reader) ([]paragraph, error) {
	var out []paragraph
	current, field := paragraph{}, ""
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 1<<16), 1<<24)
	flush := func() {
		if len(current) > 0 {
			out = append(out, current)
		}
		current, field = paragraph{}, ""
	}
	for lines.Scan() {
		line := lines.Text()
		switch {
		case strings.HasPrefix(line, "#"):
		case strings.TrimSpace(line) == "":
			flush()
		case line[0] == ' ' || line[0] == '\t':
			if field != "" {
				current[field] += "\n" + strings.TrimSpace(line)
			}
		default:
			name, value, ok := strings.Cut(line, ":")
			if !ok {
				return nil, fmt.Errorf("line %q has no colon", line)
			}
			field = strings.ToLower(name)
			current[field] = strings.TrimSpace(value)
		}
	}
	flush()
	return out, lines.Err()
}

// parseDeb822 reads the paragraphs of a .sources file.
func parseDeb822(r io.Reader) ([]aptEntry, error) {
	blocks, err := paragraphs(r)
	if err != nil {
		return nil, err
	}
	var out []aptEntry
	for _, b := range blocks {
		if slices.Contains([]string{"no", "false", "0", "off"}, strings.ToLower(b["enabled"])) {
			continue
		}
		e := aptEntry{
			uris: strings.Fields(b["uris"]), suites: strings.Fields(b["suites"]), components: strings.Fields(b["components"]),
			signedBy: b["signed-by"], trusted: strings.EqualFold(b["trusted"], "yes"),
		}
		if len(e.uris) == 0 || len(e.suites) == 0 {
			return nil, fmt.Errorf("a block has no URIs or no Suites")
		}
		out = append(out, e)
	}
	return out, nil
}

// release is the code name of this system ("bookworm"); "" when it is none of Debian's family.
func release(osRelease string) string {
	text, _ := os.ReadFile(osRelease)
	for line := range strings.Lines(string(text)) {
		if v, ok := strings.CutPrefix(line, "VERSION_CODENAME="); ok {
			return strings.Trim(strings.TrimSpace(v), `"'`)
		}
	}
	return ""
}

// part says how a suite's name relates to a release: "" for the release itself, "-updates", "-security" or "/updates" (the
// security suite of old releases); ok is false for everything else, such as another vendor's suite.
func part(suite, release string) (suffix string, ok bool) {
	suffix, ok = strings.CutPrefix(suite, release)
	return suffix, ok && slices.Contains([]string{"", "-updates", "-security", "/updates"}, suffix)
}

// sourcesFor picks the entries for a suite. Where the system has the suite itself it is used as configured, with its
// updates and security fixes; else the entries of the system's own release are used with the other name. main must be
// served; more may be missing (a suite that has no security updates).
func sourcesFor(entries []aptEntry, suite, release string) (main, more []aptEntry) {
	pick := func(from string) {
		for _, e := range entries {
			for _, s := range e.suites {
				suffix, ok := part(s, from)
				if !ok {
					continue
				}
				one := e
				one.suites = []string{suite + suffix}
				if suffix == "" {
					main = append(main, one)
				} else if suite == from || suffix == "-security" {
					more = append(more, one)
				}
			}
		}
	}
	pick(suite)
	if len(main) == 0 && release != "" && release != suite {
		more = nil
		pick(release)
	}
	return main, more
}

// deb822 writes the entry as a source of source packages.
func (e aptEntry) deb822() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Types: deb-src\nURIs: %s\nSuites: %s\n", strings.Join(e.uris, " "), strings.Join(e.suites, " "))
	if !strings.HasSuffix(e.suites[0], "/") {
		components := e.components
		if len(components) == 0 {
			components = []string{"main"}
		}
		fmt.Fprintf(&b, "Components: %s\n", strings.Join(components, " "))
	}
	if e.signedBy != "" {
		fmt.Fprintf(&b, "Signed-By: %s\n", strings.ReplaceAll(e.signedBy, "\n", "\n "))
	}
	if e.trusted {
		b.WriteString("Trusted: yes\n")
	}
	return b.String() + "\n"
}
