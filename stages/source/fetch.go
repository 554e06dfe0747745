package source

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// handDir is the folder beside the experiment for files that were brought by hand.
const handDir = "distfiles"

// errTried means that another address leads to the one that was tried before.
var errTried = errors.New("it stands for an address that was tried")

// fetchFrom gets r from one address into dest.
func (j *job) fetchFrom(ctx context.Context, given string, r Resolved, dest string) (Facts, error) {
	a, err := j.parse(given)
	if err != nil {
		return Facts{}, err
	}
	facts := Facts{Address: given, Version: r.Version, Verified: r.Verified}
	if given != r.Address {
		if a, err = j.settle(ctx, a, r, &facts); err != nil {
			return Facts{}, err
		}
	}
	got, err := j.obtain(ctx, a, &facts)
	if err != nil {
		return Facts{}, err
	}
	defer os.RemoveAll(got)
	part, err := j.open(ctx, a, got)
	if err != nil {
		return Facts{}, err
	}
	facts.Files, facts.Bytes, err = j.place(ctx, part, dest)
	return facts, err
}

// settle makes sure that another address than the resolved one is about the same content. A file with a known sha256 is
// verified when it is here; everything else has to resolve to what r is.
func (j *job) settle(ctx context.Context, a *address, r Resolved, facts *Facts) (*address, error) {
	if mode := a.getter.name(); (mode == "http" || mode == "file") && j.SHA256 != "" || Mask(a.given) == r.Address {
		return a, nil
	}
	same, err := a.getter.resolve(ctx, a)
	if err != nil {
		return nil, err
	}
	facts.Notes = append(facts.Notes, same.Notes...)
	if same.Content() != r.Content() {
		return nil, fmt.Errorf("it is %s now, and %s is wanted", describe(same), describe(r))
	}
	if same.Address == r.Address {
		return nil, errTried
	}
	return j.parse(unmask(same.Address, []string{a.given}))
}

func describe(r Resolved) string {
	if r.Version != "" {
		return r.Version + " (" + r.Content() + ")"
	}
	return r.Content()
}

// obtain brings a verified file, or a folder, into the scratch folder.
func (j *job) obtain(ctx context.Context, a *address, facts *Facts) (string, error) {
	wanted, err := j.wanted(ctx, a)
	if err != nil {
		return "", err
	}
	if path := j.atHand(a, facts); path != "" {
		return path, nil
	}
	path, err := j.get(ctx, a)
	if err != nil {
		return "", err
	}
	st, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if st.IsDir() {
		return path, j.verifyFolder(ctx, a, path, facts)
	}
	facts.SHA256, err = verifyFile(path, Mask(a.given), wanted)
	var sumErr *ChecksumError
	if errors.As(err, &sumErr) && j.SHA256 != "" {
		sumErr.Manual = filepath.Join(j.base(), handDir, a.fileName())
	}
	if err != nil {
		os.Remove(path)
		return "", err
	}
	if facts.Verified == "" {
		facts.Verified = Unverified
		if len(wanted) > 0 {
			facts.Verified = wanted[0].algorithm + " of " + wanted[0].origin
		}
	}
	return path, nil
}

// atHand is a copy of the file that is here already: what Resolve downloaded a moment ago, or what somebody put beside the
// experiment. Its sha256 must be known and must fit.
func (j *job) atHand(a *address, facts *Facts) string {
	if j.SHA256 == "" {
		return ""
	}
	wanted := []digest{{"sha256", j.SHA256, j.SHA256Origin}}
	if path := j.Held.take(j.SHA256, j.Scratch, "held-"+a.fileName()); path != "" {
		if sum, err := verifyFile(path, "", wanted); err == nil {
			facts.SHA256 = sum
			return path
		}
		os.Remove(path)
	}
	byHand := filepath.Join(j.base(), handDir, a.fileName())
	if !isFile(byHand) {
		return ""
	}
	sum, err := verifyFile(byHand, byHand, wanted)
	if err != nil {
		facts.Notes = append(facts.Notes, fmt.Sprintf("%s was not used: %v", byHand, err))
		return ""
	}
	copied := filepath.Join(j.Scratch, "by-hand-"+a.fileName())
	if err := copyFile(&listed{path: byHand}, copied); err != nil {
		return ""
	}
	facts.SHA256, facts.Address = sum, byHand
	facts.Notes = append(facts.Notes, "taken from "+byHand)
	return copied
}

// verifyFolder compares a copied folder with the hash that it was pinned with. A commit needs no comparison: git has done it.
func (j *job) verifyFolder(ctx context.Context, a *address, path string, facts *Facts) error {
	if a.getter.name() == "git" || j.SHA256 == "" {
		if facts.Verified == "" {
			facts.Verified = "git commit"
		}
		return nil
	}
	list, err := addFolder(nil, filepath.Join(path, filepath.FromSlash(a.hashedPart())), "")
	if err != nil {
		return err
	}
	sum, err := treeHash(ctx, list)
	if err != nil {
		return err
	}
	if sum != j.SHA256 {
		return fmt.Errorf("the content has changed since it was pinned (sha256 %s, now %s); run again to take it as it is now", j.SHA256, sum)
	}
	facts.SHA256 = sum
	return nil
}

// hashedPart is the part of a copied folder that its hash is about: an installation is hashed as a whole.
func (a *address) hashedPart() string {
	if a.getter.name() == "system" {
		return ""
	}
	return a.subdir
}

// open unpacks a file where it is one, and returns the folder or file that the address asks for.
func (j *job) open(ctx context.Context, a *address, got string) (string, error) {
	st, err := os.Stat(got)
	if err != nil {
		return "", err
	}
	if st.IsDir() {
		if err := makeLinks(got, j.Limits); err != nil {
			return "", err
		}
		return folderPart(got, a.subdir)
	}
	if a.archive == "false" {
		named := filepath.Join(filepath.Dir(got), a.fileName())
		return named, os.Rename(got, named)
	}
	dir, err := os.MkdirTemp(j.Scratch, "unpacked-")
	if err != nil {
		return "", err
	}
	single, err := j.unpackInto(ctx, a, got, dir)
	if err != nil || single {
		return dir, err
	}
	inner, err := top(dir)
	if err != nil {
		return "", err
	}
	if err := checkLinks(inner); err != nil {
		return "", err
	}
	if err := makeLinks(inner, j.Limits); err != nil {
		return "", err
	}
	return chosen(dir, a.subdir)
}

// unpackInto fills dir and says whether the file was no archive.
func (j *job) unpackInto(ctx context.Context, a *address, file, dir string) (single bool, err error) {
	f, err := os.Open(file)
	if err != nil {
		return false, err
	}
	defer f.Close()
	t, err := newTree(dir, j.Limits)
	if err != nil {
		return false, err
	}
	defer t.close()
	defer j.watchPosition("unpack "+a.fileName(), f)()
	if err := unpack(ctx, t, f, a.fileName()); err != nil {
		return false, fmt.Errorf("unpack %s: %w", a.fileName(), err)
	}
	if t.special > 0 {
		j.logf("%d entries had setuid, setgid or sticky bits, which were dropped", t.special)
	}
	if t.entries == 0 {
		return false, fmt.Errorf("unpack %s: the archive is empty", a.fileName())
	}
	return t.plain, nil
}

// folderPart is a subdirectory of a folder that came as one, which is not stripped of anything.
func folderPart(dir, subdir string) (string, error) {
	if subdir == "" {
		return dir, nil
	}
	return chosen(dir, subdir)
}
