package builder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

var meson = recipe{
	name:     Meson,
	doc:      "meson and ninja: PostgreSQL 16 and later; configure options are translated",
	minMajor: 16,
	compiles: true,
	needs:    mesonNeeds,
	build:    buildMeson,
}

func buildMeson(ctx context.Context, j *job) (string, error) {
	if _, err := os.Stat(joinSource(j.Source, "meson.build")); err != nil {
		return "", fmt.Errorf("the source has no meson.build; use recipe %q", Autotools)
	}
	if _, err := j.contribDirs(); err != nil { // meson builds all of contrib; a wrong name is still a mistake
		return "", err
	}
	options, err := mesonOptions(j.Configure)
	if err != nil {
		return "", err
	}
	if err := j.patchSource(ctx); err != nil {
		return "", err
	}
	if err := j.frontCompilers(ctx); err != nil {
		return "", err
	}
	if err := j.mesonSetup(ctx, options); err != nil {
		return "", err
	}
	if err := j.ninja(ctx); err != nil {
		return "", err
	}
	install := command{dir: j.work, name: "meson", args: []string{"install", "--no-rebuild", "--quiet", "--destdir", j.stage}}
	if err := j.run(ctx, install); err != nil {
		return "", err
	}
	return filepath.Join(j.stage, neutralPrefix), nil
}

// mesonSetup asks for the layout and the paths that autotools gives, so that both results are used alike.
func (j *job) mesonSetup(ctx context.Context, options []string) error {
	j.progress("configure", 0, 0)
	link := strings.Fields(j.LDFLAGS)
	link = append(link, "-Wl,-rpath,$ORIGIN/../lib:$ORIGIN/..", "-Wl,--enable-new-dtags")
	args := []string{"setup", "--prefix=" + neutralPrefix, "--libdir=lib", "-Drpath=false", "-Dc_link_args=" + mesonList(link)}
	if flags := strings.Fields(j.CFLAGS); len(flags) > 0 {
		args = append(args, "-Dc_args="+mesonList(flags))
	}
	args = append(append(args, options...), j.work, j.source)
	// meson takes the archiver from the environment alone.
	env := j.env
	j.env = append(slices.Clone(env), j.archiver()...)
	defer func() { j.env = env }()
	err := j.run(ctx, command{dir: j.tmp, name: "meson", args: args})
	if err != nil {
		j.logFile("meson-logs/meson-log.txt")
	}
	return err
}

// mesonList writes flags as meson's list of strings: a plain string would be split at commas.
func mesonList(flags []string) string {
	quoted := make([]string, len(flags))
	for i, f := range flags {
		quoted[i] = "'" + strings.NewReplacer(`\`, `\\`, `'`, `\'`).Replace(f) + "'"
	}
	return "[" + strings.Join(quoted, ", ") + "]"
}

var ninjaCount = regexp.MustCompile(`^\[(\d+)/(\d+)\]`)

func (j *job) ninja(ctx context.Context) error {
	args := append([]string{"-j" + strconv.Itoa(j.jobs()), "--verbose"}, j.Make...)
	return j.run(ctx, command{dir: j.work, name: "ninja", args: args, each: func(line string) {
		if m := ninjaCount.FindStringSubmatch(line); m != nil {
			done, _ := strconv.ParseFloat(m[1], 64)
			total, _ := strconv.ParseFloat(m[2], 64)
			j.progress("compile", done, total)
		}
	}})
}

// mesonNames are the configure options whose name is another one in meson. Features not asked for are off, but for those
// that configure turns on by itself.
var (
	mesonNames = map[string]string{"perl": "plperl", "python": "plpython", "tcl": "pltcl"}
	mesonOn    = []string{"readline", "zlib", "icu"}
	mesonPlain = []string{"blocksize", "wal-blocksize", "segsize", "segsize-blocks", "pgport", "krb-srvnam", "system-tzdata", "extra-version"}
	mesonBool  = []string{"debug", "cassert", "injection-points"}
	mesonOther = []string{"bonjour", "bsd-auth", "dtrace", "gssapi", "icu", "ldap", "libcurl", "libnuma", "liburing", "libxml", "libxslt",
		"llvm", "lz4", "nls", "pam", "perl", "python", "readline", "selinux", "systemd", "tap-tests", "tcl", "zlib", "zstd"}
)

// mesonOptions translates options of configure; -Dname=value is passed on as it is.
func mesonOptions(configure []string) ([]string, error) {
	set := map[string]string{}
	for _, name := range mesonOn {
		set[name] = "enabled"
	}
	order := slices.Clone(mesonOn)
	out := []string{"-Dauto_features=disabled"}
	for _, option := range configure {
		if strings.HasPrefix(option, "-D") {
			out = append(out, option)
			continue
		}
		name, value, err := mesonOption(option)
		if err != nil {
			return nil, err
		}
		if !slices.Contains(order, name) {
			order = append(order, name)
		}
		set[name] = value
	}
	for _, name := range order {
		out = append(out, "-D"+name+"="+set[name])
	}
	return out, nil
}

func mesonOption(option string) (name, value string, err error) {
	rest, given, hasValue := strings.Cut(strings.TrimLeft(option, "-"), "=")
	verb, word, _ := strings.Cut(rest, "-")
	on := verb == "with" || verb == "enable"
	if !on && verb != "without" && verb != "disable" {
		return "", "", fmt.Errorf("option %q has no translation for recipe %q; write it as -Dname=value", option, Meson)
	}
	switch {
	case (word == "ssl" || word == "openssl") && on:
		return "ssl", "openssl", nil
	case word == "ssl" || word == "openssl":
		return "ssl", "none", nil
	case word == "uuid" && hasValue:
		return "uuid", given, nil
	case slices.Contains(mesonPlain, word) && hasValue:
		return strings.ReplaceAll(word, "-", "_"), given, nil
	case slices.Contains(mesonBool, word) && !hasValue:
		return strings.ReplaceAll(word, "-", "_"), strconv.FormatBool(on), nil
	case slices.Contains(mesonOther, word) && !hasValue:
		if renamed := mesonNames[word]; renamed != "" {
			word = renamed
		}
		value = map[bool]string{true: "enabled", false: "disabled"}[on]
		return strings.ReplaceAll(word, "-", "_"), value, nil
	}
	return "", "", fmt.Errorf("option %q has no translation for recipe %q; write it as -Dname=value", option, Meson)
}

func mesonNeeds(q Query) []need {
	needs := append(compilerNeeds(q), toolNeed("meson", "meson", "recipe meson"), toolNeed("ninja", "ninja-build", "recipe meson"),
		toolNeed("pkg-config", "pkg-config", "finding libraries"))
	return append(needs, libraryNeeds(q)...)
}
