package source

import (
	"context"
	"fmt"
	"net/url"
	"os"
	"path/filepath"

	"github.com/hashicorp/go-getter/v2"
)

// kinds are all kinds of sources, made anew for every use: a getter may keep state while it works. The local one is last,
// because it takes everything that has no scheme.
func (j *job) kinds() []kind {
	return []kind{
		&gitGetter{job: j}, &aptGetter{job: j}, &npmGetter{job: j}, &systemGetter{job: j},
		newHTTPGetter(j), &localGetter{job: j},
	}
}

// client uses the given getters and no decompressor: a file is verified before anything looks into it.
func client(getters ...getter.Getter) *getter.Client {
	return &getter.Client{Getters: getters, Decompressors: map[string]getter.Decompressor{}}
}

// get brings a file or a folder into a new folder below the scratch folder and returns its path.
func (j *job) get(ctx context.Context, a *address) (string, error) {
	dir, err := os.MkdirTemp(j.Scratch, "get-")
	if err != nil {
		return "", err
	}
	dst := filepath.Join(dir, "got") // absent: a getter of folders makes it, and clones into nothing that exists
	if mode, err := a.getter.Mode(ctx, &url.URL{Path: a.src}); err == nil && mode == getter.ModeFile {
		if err := os.Mkdir(dst, 0o755); err != nil {
			return "", err
		}
	}
	res, err := client(a.getter).Get(ctx, &getter.Request{
		Src: a.full(), Dst: dst, Pwd: j.base(), Forced: a.getter.name(), GetMode: getter.ModeAny, Copy: true,
		ProgressListener: &tracker{job: j, name: a.fileName()},
	})
	if err != nil {
		os.RemoveAll(dir)
		return "", err
	}
	if _, err := os.Lstat(res.Dst); err != nil {
		return "", fmt.Errorf("nothing came from %s", Mask(a.given))
	}
	return res.Dst, nil
}

// wanted lists the checksums that a file from this address must have.
func (j *job) wanted(ctx context.Context, a *address) ([]digest, error) {
	var out []digest
	if j.SHA256 != "" {
		out = append(out, digest{"sha256", j.SHA256, j.SHA256Origin})
	}
	if a.checksum == "" {
		return out, nil
	}
	d, err := j.addressDigest(ctx, a)
	if err != nil {
		return nil, err
	}
	return append(out, d), nil
}

// addressDigest is what ?checksum= says; with "file:URL" that file is fetched and searched, as go-getter does.
func (j *job) addressDigest(ctx context.Context, a *address) (digest, error) {
	const inFile = "file:"
	if len(a.checksum) < len(inFile) || a.checksum[:len(inFile)] != inFile {
		return parseDigest(a.checksum, "checksum= in the address")
	}
	req := &getter.Request{Src: a.src + "?checksum=" + a.checksum, Pwd: j.base()}
	sum, err := client(newHTTPGetter(j), &localGetter{job: j}).GetChecksum(ctx, req)
	if err != nil {
		return digest{}, fmt.Errorf("checksum file: %w", err)
	}
	return parseDigest(sum.String(), Mask(a.checksum[len(inFile):]))
}
