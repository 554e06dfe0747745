package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/go-getter/v2"

	"pgpipeline/pipeline/proc"
)

// systemGetter copies a server that is installed on this machine: system::postgresql-15, system::/usr/lib/postgresql/15, or
// system:: for the newest one.
//
// The copy keeps the places of programs, libraries and shared files relative to each other, since PostgreSQL finds the
// others relative to its programs: on Debian bin is in lib/postgresql/15/bin and share is in share/postgresql/15. It is a
// copy and no link, so that an upgrade of the package does not change what was measured. Libraries of the system (libssl,
// libicu, libpq) are not copied.
type systemGetter struct{ job *job }

func (g *systemGetter) name() string { return "system" }

// Detect implements getter.Getter.
func (g *systemGetter) Detect(req *getter.Request) (bool, error) { return req.Forced == "system", nil }

// Mode implements getter.Getter.
func (g *systemGetter) Mode(context.Context, *url.URL) (getter.Mode, error) {
	return getter.ModeDir, nil
}

// GetFile implements getter.Getter.
func (g *systemGetter) GetFile(context.Context, *getter.Request) error {
	return errors.New("an installed server is no single file")
}

func (g *systemGetter) resolve(ctx context.Context, a *address) (Resolved, error) {
	inst, err := g.find(ctx, a.src)
	if err != nil {
		return Resolved{}, err
	}
	list, err := inst.list()
	if err != nil {
		return Resolved{}, err
	}
	sum, err := rememberedHash(ctx, "system "+inst.bin, list)
	if err != nil {
		return Resolved{}, err
	}
	fixed := "system::" + a.fixed(filepath.Dir(inst.bin), url.Values{"version": {inst.build}})
	r := Resolved{Address: fixed, Version: inst.version, SHA256: sum, Verified: "content of the installation"}
	if was := a.query.Get("version"); was != "" && was != inst.build {
		r.Notes = append(r.Notes, fmt.Sprintf("%s was version %s and is %s now", filepath.Dir(inst.bin), was, inst.build))
	}
	return r, nil
}

// Get implements getter.Getter.
func (g *systemGetter) Get(ctx context.Context, req *getter.Request) error {
	inst, err := g.find(ctx, req.URL().Path)
	if err != nil {
		return err
	}
	list, err := inst.list()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(req.Dst, 0o755); err != nil {
		return err
	}
	return g.job.copyListing(ctx, list, req.Dst)
}

// installRoots are where packages put servers, %s being the major version.
var installRoots = []string{"/usr/lib/postgresql/%s", "/usr/pgsql-%s", "/usr/lib/postgresql%s", "/opt/postgresql/%s"}

var majorPattern = regexp.MustCompile(`^postgresql(?:-([0-9]+(?:\.[0-9]+)?))?$`)

// find returns the installation that a name or a path means.
func (g *systemGetter) find(ctx context.Context, what string) (*installation, error) {
	if filepath.IsAbs(what) {
		return g.open(ctx, what)
	}
	m := majorPattern.FindStringSubmatch(what)
	if m == nil {
		return nil, fmt.Errorf("system::%s: write postgresql-MAJOR, the absolute path of an installation, or nothing for the newest", what)
	}
	major := m[1]
	if major == "" {
		major = "*"
	}
	var dirs []string
	for _, pattern := range installRoots {
		found, _ := filepath.Glob(fmt.Sprintf(pattern, major))
		for _, dir := range found {
			if isFile(filepath.Join(dir, "bin", "postgres")) {
				dirs = append(dirs, dir)
			}
		}
	}
	if major == "*" && isFile("/usr/local/pgsql/bin/postgres") {
		dirs = append(dirs, "/usr/local/pgsql")
	}
	if len(dirs) == 0 {
		pkg := "postgresql"
		if major != "*" {
			pkg = "postgresql-" + major
		}
		return nil, fmt.Errorf("no server of that version is installed here: apt-get install %s", pkg)
	}
	slices.SortFunc(dirs, func(a, b string) int { return majorOf(b) - majorOf(a) })
	return g.open(ctx, dirs[0])
}

var lastNumber = regexp.MustCompile(`([0-9]+)[^0-9]*$`)

func majorOf(dir string) int {
	m := lastNumber.FindStringSubmatch(dir)
	if m == nil {
		return 0
	}
	n, _ := strconv.Atoi(m[1])
	return n
}

// An installation is an installed server.
type installation struct {
	bin, lib, share string // folders
	libs            string // folder of client libraries that came with it; "" when they are the system's
	version         string // "15.18"
	build           string // what else the server says about itself: "15.18-0+deb12u1" of Debian's
}

var postgresVersion = regexp.MustCompile(`\(PostgreSQL\) (\S+)(?: \((.+)\))?`)

func (g *systemGetter) open(ctx context.Context, dir string) (*installation, error) {
	inst := &installation{bin: filepath.Join(dir, "bin")}
	if isFile(filepath.Join(dir, "postgres")) { // the folder of the programs itself
		inst.bin = dir
	}
	server := filepath.Join(inst.bin, "postgres")
	if !isFile(server) {
		return nil, fmt.Errorf("%s has no bin/postgres: no server is installed there", dir)
	}
	out, err := g.ask(ctx, server, "--version")
	if err != nil {
		return nil, err
	}
	m := postgresVersion.FindStringSubmatch(out)
	if m == nil {
		return nil, fmt.Errorf("%s --version says %q", server, strings.TrimSpace(out))
	}
	inst.version, inst.build = m[1], m[1]
	if words := strings.Fields(m[2]); len(words) > 0 {
		inst.build = words[len(words)-1]
	}
	return inst, inst.locate(ctx, g)
}

// locate finds the other folders: by pg_config where the installation has it, else where they are relative to bin.
func (inst *installation) locate(ctx context.Context, g *systemGetter) error {
	prefix := filepath.Dir(inst.bin)
	inst.lib = firstDir(filepath.Join(prefix, "lib", "postgresql"), filepath.Join(prefix, "lib"))
	inst.share = firstDir(filepath.Join(prefix, "share", "postgresql"), filepath.Join(prefix, "share"),
		strings.Replace(prefix, "/lib/", "/share/", 1))
	if config := filepath.Join(inst.bin, "pg_config"); isFile(config) {
		out, err := g.ask(ctx, config, "--pkglibdir", "--sharedir", "--libdir")
		if err != nil {
			return err
		}
		if lines := strings.Split(strings.TrimSpace(out), "\n"); len(lines) == 3 {
			inst.lib, inst.share, inst.libs = lines[0], lines[1], lines[2]
		}
	} else if filepath.Base(inst.lib) == "postgresql" {
		inst.libs = filepath.Dir(inst.lib)
	}
	if inst.libs == inst.lib || sharedDir(inst.libs) {
		inst.libs = ""
	}
	if !isFile(filepath.Join(inst.share, "postgres.bki")) {
		return fmt.Errorf("no postgres.bki in %q: the installation at %s has no shared files to initialise a cluster", inst.share, inst.bin)
	}
	return nil
}

func firstDir(dirs ...string) string {
	for _, d := range dirs {
		if st, err := os.Stat(d); err == nil && st.IsDir() {
			return d
		}
	}
	return ""
}

// sharedDir says whether other programs of the system have their files there too.
func sharedDir(dir string) bool {
	return slices.Contains([]string{"", "/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib", "/bin", "/usr/bin", "/usr/local/bin"}, dir) ||
		strings.Contains(filepath.Base(dir), "-linux-gnu")
}

func (g *systemGetter) ask(ctx context.Context, program string, args ...string) (string, error) {
	as, _ := proc.Unprivileged() // a server refuses most things as root
	var out bytes.Buffer
	err := proc.Run(ctx, proc.Cmd{Path: program, Args: args, As: as, Env: proc.Environ(), Stdout: &out, Timeout: time.Minute})
	return out.String(), err
}

// list is everything that the server needs, under names relative to the folder that all of it is in.
func (inst *installation) list() ([]listed, error) {
	dirs := []string{inst.bin, inst.lib, inst.share}
	if inst.libs != "" {
		dirs = append(dirs, inst.libs)
	}
	base := commonParent(dirs)
	var out []listed
	for _, dir := range dirs {
		rel, err := filepath.Rel(base, dir)
		if err != nil {
			return nil, err
		}
		if dir == inst.bin && sharedDir(dir) {
			out, err = addPrograms(out, dir, rel)
		} else {
			out, err = addFolder(out, dir, rel)
		}
		if err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b listed) int { return strings.Compare(a.name, b.name) })
	out = slices.CompactFunc(out, func(a, b listed) bool { return a.name == b.name })
	return out, nil
}

// addPrograms lists PostgreSQL's own programs in a folder that has others too.
func addPrograms(list []listed, dir, prefix string) ([]listed, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	for _, pattern := range []string{"postgres", "initdb", "psql", "pgbench", "createdb", "dropdb", "vacuumdb", "reindexdb", "clusterdb", "pg_*"} {
		found, _ := filepath.Glob(filepath.Join(dir, pattern))
		for _, path := range found {
			e, err := listFile(root, path, filepath.Base(path))
			if errors.Is(err, fs.ErrNotExist) || e == nil {
				continue
			}
			if err != nil {
				return nil, err
			}
			e.name = filepath.ToSlash(filepath.Join(prefix, filepath.Base(path)))
			list = append(list, *e)
		}
	}
	return list, nil
}

func commonParent(dirs []string) string {
	base := dirs[0]
	for _, d := range dirs[1:] {
		for !within(base, d) {
			base = filepath.Dir(base)
		}
	}
	if base == dirs[0] {
		base = filepath.Dir(base)
	}
	return base
}
