package builder

import (
	"bytes"
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"pgpipeline/pipeline/proc"
)

// Features are what a server has or lacks by how it was built, with the library that a server with it is linked to.
var featureLibs = map[string]string{
	"lz4": "liblz4.so", "zstd": "libzstd.so", "liburing": "liburing.so", "icu": "libicui18n.so", "ssl": "libssl.so", "xml": "libxml2.so",
	"systemd": "libsystemd.so", "gssapi": "libgssapi_krb5.so", "ldap": "libldap", "pam": "libpam.so", "selinux": "libselinux.so",
	"zlib": "libz.so", "numa": "libnuma.so",
}

// inspect runs the programs of the finished tree once, where it is now, and describes it.
func inspect(ctx context.Context, j *job) (Result, error) {
	bin, err := findBin(j.Dest)
	if err != nil {
		return Result{}, fmt.Errorf("look at result: %w", err)
	}
	version, err := runPrograms(ctx, j, bin)
	if err != nil {
		return Result{}, err
	}
	if j.version != "" && j.version != version {
		return Result{}, fmt.Errorf("look at result: the source says %s and the server built from it says %s", j.version, version)
	}
	rel, err := filepath.Rel(j.Dest, bin)
	if err != nil {
		return Result{}, err
	}
	features, err := Features(bin)
	if err != nil {
		return Result{}, fmt.Errorf("look at result: %w", err)
	}
	options := configureLine(filepath.Join(bin, "postgres"))
	if options == "" {
		options = strings.Join(j.Configure, " ")
	}
	r := Result{Version: version, BinDir: rel, Features: features, Extensions: extensions(ctx, j, bin), Configure: options}
	r.Facts = facts(j, r)
	return r, nil
}

func facts(j *job, r Result) map[string]string {
	f := map[string]string{"version": r.Version, "recipe": j.Recipe}
	if Compiles(j.Recipe) {
		f["configure"] = strings.Join(j.Configure, " ")
	}
	if j.CFLAGS != "" {
		f["cflags"] = j.CFLAGS
	}
	if j.LDFLAGS != "" {
		f["ldflags"] = j.LDFLAGS
	}
	for _, name := range []string{"lz4", "liburing", "llvm"} {
		f[name] = map[bool]string{true: "yes", false: "no"}[r.Features[name]]
	}
	return f
}

// serverPrograms must be there; the others are run when they are, since prebuilt trees often hold the server alone.
var (
	serverPrograms = []string{"postgres", "initdb", "pg_ctl"}
	clientPrograms = []string{"psql", "pgbench", "pg_config", "pg_controldata"}
	saidVersion    = regexp.MustCompile(`\(PostgreSQL\) (\S+)`)
)

// runPrograms runs each program with --version from where it is, without help from the environment: this shows that it
// finds its libraries. It returns the server's version.
func runPrograms(ctx context.Context, j *job, bin string) (version string, err error) {
	for _, name := range append(slices.Clone(serverPrograms), clientPrograms...) {
		path := filepath.Join(bin, name)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			if slices.Contains(serverPrograms, name) || name == "psql" && Compiles(j.Recipe) {
				return "", fmt.Errorf("look at result: %s is not in it", name)
			}
			continue
		}
		said, err := programVersion(ctx, j, path)
		if err != nil {
			return "", fmt.Errorf("look at result: %w", err)
		}
		if name == "postgres" {
			version = said
		}
	}
	return version, nil
}

func programVersion(ctx context.Context, j *job, path string) (string, error) {
	var out bytes.Buffer
	err := proc.Run(ctx, proc.Cmd{Path: path, Args: []string{"--version"}, Env: proc.Environ(), Dir: "/", As: j.As, Stdout: &out})
	if err != nil {
		return "", err
	}
	fmt.Fprintf(j.Log, "%s", out.Bytes())
	m := saidVersion.FindStringSubmatch(out.String())
	if m == nil && strings.HasPrefix(out.String(), "PostgreSQL ") { // pg_config
		return strings.Fields(out.String())[1], nil
	}
	if m == nil {
		return "", fmt.Errorf("%s --version says %q, which names no version", filepath.Base(path), out.String())
	}
	return m[1], nil
}

// Features says what the server in bin was built with, from the libraries that it is linked to: this holds for servers of any
// origin, and for those built by meson, which do not report their options.
func Features(bin string) (map[string]bool, error) {
	f, err := elf.Open(filepath.Join(bin, "postgres"))
	if err != nil {
		return nil, fmt.Errorf("read features: %w", err)
	}
	defer f.Close()
	libs, err := f.ImportedLibraries()
	if err != nil {
		return nil, fmt.Errorf("read features: %w", err)
	}
	features := map[string]bool{}
	for name, lib := range featureLibs {
		features[name] = slices.ContainsFunc(libs, func(l string) bool { return strings.HasPrefix(l, lib) })
	}
	lib := filepath.Join(filepath.Dir(bin), "lib")
	features["llvm"] = exists(filepath.Join(lib, "llvmjit.so")) || exists(filepath.Join(lib, "postgresql", "llvmjit.so"))
	return features, nil
}

// configureLine finds the configure options in the server's read-only data, "" when there are none.
func configureLine(postgres string) string {
	f, err := elf.Open(postgres)
	if err != nil {
		return ""
	}
	defer f.Close()
	section := f.Section(".rodata")
	if section == nil {
		return ""
	}
	data, err := section.Data()
	if err != nil {
		return ""
	}
	return reportedOptions(data)
}

// reportedOptions finds the string constant that looks as config.status writes options: quoted words, the first one an option.
func reportedOptions(data []byte) string {
	for len(data) > 0 {
		at := bytes.Index(data, []byte("'--"))
		if at < 0 {
			break
		}
		before := bytes.TrimSuffix(data[:at], []byte{' '})
		word, _, ended := bytes.Cut(data[at:], []byte{0})
		if ended && bytes.HasSuffix(word, []byte{'\''}) && (len(before) == 0 || before[len(before)-1] == 0) {
			return string(word)
		}
		data = data[at+1:]
	}
	return ""
}

// extensions lists the extensions that CREATE EXTENSION can find. pg_config says where the server looks; trees without it have
// their files below their own share folder.
func extensions(ctx context.Context, j *job, bin string) []string {
	patterns := []string{filepath.Join(filepath.Dir(bin), "share", "extension"), filepath.Join(filepath.Dir(bin), "share", "*", "extension")}
	var out bytes.Buffer
	config := proc.Cmd{Path: filepath.Join(bin, "pg_config"), Args: []string{"--sharedir"}, Env: proc.Environ(), Dir: "/", As: j.As, Stdout: &out}
	if exists(config.Path) && proc.Run(ctx, config) == nil {
		patterns = []string{filepath.Join(strings.TrimSpace(out.String()), "extension")}
	}
	names := []string{}
	for _, pattern := range patterns {
		found, _ := filepath.Glob(filepath.Join(pattern, "*.control"))
		for _, path := range found {
			names = append(names, strings.TrimSuffix(filepath.Base(path), ".control"))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}
