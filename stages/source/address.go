package source

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"strings"

	"github.com/hashicorp/go-getter/v2"
)

// An address is one source address, taken apart. go-getter says which getter it is for and what it is in full
// ("github.com/a/b" becomes "https://github.com/a/b.git"); the parameters that are ours are taken out of it.
type address struct {
	given  string // as written
	getter kind
	src    string // what the getter is asked for: no forced prefix, no subdirectory, no parameters of ours
	subdir string // what follows "//"; slash-separated, "" for everything
	query  url.Values
	// archive is "false" when the file is to stay packed, else "".
	archive  string
	checksum string // value of ?checksum=
}

// kind is a getter that can also tell what its address means right now. Each kind of source is one of them.
type kind interface {
	getter.Getter
	// name is the word in front of "::" that selects it.
	name() string
	// resolve turns a into a fixed address. It sets Resolved.Address without the subdirectory, which the caller adds.
	resolve(ctx context.Context, a *address) (Resolved, error)
}

// parse takes an address apart and refuses what no getter of ours should ever see.
func (j *job) parse(given string) (*address, error) {
	for _, r := range given {
		if r < ' ' || r == 0x7f {
			return nil, fmt.Errorf("address %q has control characters", given)
		}
	}
	if given == "" {
		return nil, errors.New("address is empty")
	}
	if given == "system::" {
		given = "system::postgresql" // go-getter wants something after the prefix
	}
	req := &getter.Request{Pwd: j.base()}
	req.Src, _ = getter.SourceDirSubdir(given)
	a := &address{given: given}
	for _, k := range j.kinds() {
		ok, err := getter.Detect(req, k)
		if err != nil {
			return nil, fmt.Errorf("address %q: %w", Mask(given), err)
		}
		if ok {
			a.getter = k
			break
		}
	}
	if a.getter == nil {
		return nil, fmt.Errorf("address %q: unknown kind of source (known: https, file or a path, git, apt, npm, system)", Mask(given))
	}
	if err := a.split(req.Src); err != nil {
		return nil, err
	}
	// The subdirectory is what follows in the address as written, or what a detector found ("github.com/a/b/sub").
	_, sub := getter.SourceDirSubdir(given)
	if sub == "" {
		a.src, sub = getter.SourceDirSubdir(a.src)
	}
	var err error
	a.subdir, err = cleanSubdir(sub, given)
	return a, err
}

// split takes the parameters off the full address and keeps those that are the getter's.
func (a *address) split(src string) error {
	base, rawQuery, _ := strings.Cut(src, "?")
	q, err := url.ParseQuery(rawQuery)
	if err != nil {
		return fmt.Errorf("address %q: parameters: %w", Mask(a.given), err)
	}
	a.checksum, a.archive = q.Get("checksum"), q.Get("archive")
	switch a.archive {
	case "", "false":
	case "true", "zip", "tar", "tar.gz", "tgz", "tar.bz2", "tbz2", "tar.xz", "txz", "tar.zst", "tzst", "gz", "bz2", "xz", "zst":
		a.archive = "" // what it really is, is told by its content
	default:
		return fmt.Errorf("address %q: archive=%q: not a format (tar.gz, tar.bz2, tar.xz, tar.zst, zip, false)", Mask(a.given), a.archive)
	}
	q.Del("checksum")
	q.Del("archive")
	a.query, a.src = q, base
	return nil
}

// full is the address that the getter is asked for, with its own parameters.
func (a *address) full() string {
	if len(a.query) == 0 {
		return a.src
	}
	return a.src + "?" + a.query.Encode()
}

// fixed writes an address of the same kind with the subdirectory and the switch that keeps archives packed.
func (a *address) fixed(src string, params url.Values) string {
	if a.subdir != "" {
		src += "//" + a.subdir
	}
	if a.archive != "" {
		if params == nil {
			params = url.Values{}
		}
		params.Set("archive", a.archive)
	}
	if len(params) > 0 {
		src += "?" + strings.ReplaceAll(params.Encode(), "%3A", ":") // legal as it is, and readable
	}
	return src
}

func cleanSubdir(sub, given string) (string, error) {
	sub, _, _ = strings.Cut(sub, "?")
	if sub == "" {
		return "", nil
	}
	if hasDotDot(sub) {
		return "", fmt.Errorf("address %q: the subdirectory has \"..\" in it", Mask(given))
	}
	return strings.TrimPrefix(path.Clean("/"+sub), "/"), nil
}

// fileName is the name that a downloaded file gets: the last part of the path, or ?filename=.
func (a *address) fileName() string {
	name := a.query.Get("filename")
	if name == "" {
		name, _ = url.PathUnescape(path.Base(a.src))
	}
	name = filepath.Base(name)
	if name == "." || name == "/" || name == ".." || name == "" {
		return "download"
	}
	return name
}
