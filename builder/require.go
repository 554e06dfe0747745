package builder

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Query says for which build requirements are asked.
type Query struct {
	Recipe    string
	Version   string // "" when it is not known yet: then everything that some version needs counts
	Source    string // source tree; "" when there is none yet
	Configure []string
	Env       map[string]string
	Patches   []string
}

// Major is the major version, or a number above all when it is not known.
func (q Query) Major() int {
	if m := Major(q.Version); m > 0 {
		return m
	}
	return 1000
}

// Missing is a tool or a library that a build needs and this machine does not have.
type Missing struct {
	Name    string // "bison", "lz4"
	Package string // the Debian package that has it
	For     string // what it is needed for
}

// MissingError lists all that is missing, so that one command mends it.
type MissingError struct{ Missing []Missing }

func (e *MissingError) Error() string {
	var b strings.Builder
	b.WriteString("missing on this machine:")
	for i, m := range e.Missing {
		if i > 0 {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, " %s (%s)", m.Name, m.For)
	}
	return b.String() + "\ninstall it with: " + AptLine(e.Missing)
}

// AptLine returns the command that installs what is missing on Debian and its kin, "" for nothing.
func AptLine(missing []Missing) string {
	if len(missing) == 0 {
		return ""
	}
	var packages []string
	for _, m := range missing {
		if !slices.Contains(packages, m.Package) {
			packages = append(packages, m.Package)
		}
	}
	line := "apt-get install -y " + strings.Join(packages, " ")
	if os.Geteuid() != 0 {
		line = "sudo " + line
	}
	return line
}

// Requirements returns what a build would miss. It reads folders and runs nothing.
func Requirements(q Query) []Missing {
	r, err := findRecipe(q.Recipe)
	if err != nil {
		return nil
	}
	var missing []Missing
	for _, n := range r.needs(q) {
		if !n.present(q.Env) {
			missing = append(missing, n.Missing)
		}
	}
	return missing
}

// need is something that must be there; one of its tools, headers or pkg-config files shows that it is.
type need struct {
	Missing
	tool    string
	headers []string
	pc      string
}

func toolNeed(tool, apt, use string) need {
	return need{Missing: Missing{Name: tool, Package: apt, For: use}, tool: tool}
}

func (n need) present(env map[string]string) bool {
	if n.tool != "" {
		return lookTool(n.tool, env) != ""
	}
	if n.pc != "" && pcFile(n.pc, env) == "" {
		return false
	}
	return len(n.headers) == 0 || slices.ContainsFunc(n.headers, func(h string) bool { return headerPresent(h, env) })
}

// compilerNeeds are those of every recipe that compiles. Release tarballs before 17 bring along what bison, flex and perl make.
func compilerNeeds(q Query) []need {
	cc := compilerName(q.Env)
	apt := filepath.Base(cc)
	needs := []need{toolNeed(cc, apt, "compiling"),
		{Missing: Missing{Name: "C library headers", Package: "libc6-dev", For: "compiling"}, headers: []string{"stdio.h"}}}
	generated := q.Source != "" && exists(joinSource(q.Source, "src/backend/parser/gram.c"))
	if q.Recipe == Meson || !generated || patchedGrammar(q.Patches) {
		needs = append(needs, toolNeed("bison", "bison", "the grammar"), toolNeed("flex", "flex", "the scanner"))
	}
	if q.Recipe == Meson || !generated {
		needs = append(needs, toolNeed("perl", "perl", "generated headers"))
	}
	if len(q.Patches) > 0 {
		needs = append(needs, toolNeed("patch", "patch", "patches"))
	}
	return needs
}

// library is an optional part of PostgreSQL with the library behind it.
type library struct {
	option string // "icu" for --with-icu and --without-icu
	// since is the major version in which configure began to use it unasked; 0: only when it is asked for.
	since   int
	pc      string // pkg-config file that PostgreSQL asks for
	headers []string
	tool    string
	apt     string
}

var libraries = []library{
	{option: "readline", since: 1, headers: []string{"readline/readline.h", "editline/readline.h", "readline.h"}, apt: "libreadline-dev"},
	{option: "zlib", since: 1, headers: []string{"zlib.h"}, apt: "zlib1g-dev"},
	{option: "icu", since: 16, pc: "icu-i18n", apt: "libicu-dev"},
	{option: "lz4", pc: "liblz4", apt: "liblz4-dev"},
	{option: "zstd", pc: "libzstd", apt: "libzstd-dev"},
	{option: "liburing", pc: "liburing", apt: "liburing-dev"},
	{option: "libnuma", pc: "numa", apt: "libnuma-dev"},
	{option: "libcurl", pc: "libcurl", apt: "libcurl4-openssl-dev"},
	{option: "ssl", headers: []string{"openssl/ssl.h"}, apt: "libssl-dev"},
	{option: "openssl", headers: []string{"openssl/ssl.h"}, apt: "libssl-dev"},
	{option: "libxml", pc: "libxml-2.0", apt: "libxml2-dev"},
	{option: "libxslt", headers: []string{"libxslt/xslt.h"}, apt: "libxslt1-dev"},
	{option: "systemd", headers: []string{"systemd/sd-daemon.h"}, apt: "libsystemd-dev"},
	{option: "pam", headers: []string{"security/pam_appl.h"}, apt: "libpam0g-dev"},
	{option: "ldap", headers: []string{"ldap.h"}, apt: "libldap-dev"},
	{option: "gssapi", headers: []string{"gssapi/gssapi.h"}, apt: "libkrb5-dev"},
	{option: "selinux", headers: []string{"selinux/selinux.h"}, apt: "libselinux1-dev"},
	{option: "uuid", headers: []string{"uuid/uuid.h"}, apt: "uuid-dev"},
	{option: "llvm", tool: "llvm-config", apt: "llvm-dev clang"},
	{option: "nls", tool: "msgfmt", apt: "gettext"},
	{option: "dtrace", tool: "dtrace", apt: "systemtap-sdt-dev"},
	{option: "python", tool: "python3-config", apt: "python3-dev"},
}

// wanted says whether a build with these options uses the library: the last option that names it counts.
func (l library) wanted(q Query) bool {
	on := l.since > 0 && q.Major() >= l.since
	for _, option := range q.Configure {
		name, value, _ := strings.Cut(strings.TrimLeft(option, "-"), "=")
		switch name {
		case "with-" + l.option, "enable-" + l.option:
			on = value != "no"
		case "without-" + l.option, "disable-" + l.option:
			on = false
		case "D" + l.option: // meson's own form
			on = value == "enabled" || value == "openssl"
		}
	}
	return on
}

func libraryNeeds(q Query) []need {
	var needs []need
	for _, l := range libraries {
		if l.wanted(q) {
			missing := Missing{Name: l.option, Package: l.apt, For: "its library; --without-" + l.option + " does without it"}
			if l.since == 0 {
				missing.For = "--with-" + l.option
			}
			needs = append(needs, need{Missing: missing, tool: l.tool, headers: l.headers, pc: l.pc})
		}
	}
	return needs
}

func (q Query) anyPkgConfig() bool {
	return slices.ContainsFunc(libraries, func(l library) bool { return l.pc != "" && l.wanted(q) })
}

// HasLibrary says whether the library behind an option such as "liburing" can be compiled with. An option that stands for no
// library is always there.
func HasLibrary(option string, env map[string]string) bool {
	for _, l := range libraries {
		if l.option == option {
			return need{tool: l.tool, headers: l.headers, pc: l.pc}.present(env)
		}
	}
	return true
}

// LibraryHint is the command that installs the library behind an option, "" for an unknown one.
func LibraryHint(option string) string {
	for _, l := range libraries {
		if l.option == option {
			return AptLine([]Missing{{Name: option, Package: l.apt}})
		}
	}
	return ""
}
