package source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	"github.com/hashicorp/go-getter/v2"
)

// npmDirect reads the registry without npm.
type npmDirect struct {
	job  *job
	conf npmrc
}

// npmManifest is the part of a version's manifest that counts. Time is not in it, so it prints the same for ever.
type npmManifest struct {
	Version string `json:"version"`
	Dist    struct {
		Integrity string `json:"integrity"`
		Shasum    string `json:"shasum"`
		Tarball   string `json:"tarball"`
	} `json:"dist"`
}

func (m npmManifest) dist() npmDist {
	return npmDist{version: m.Version, sha512: sha512Of(m.Dist.Integrity), sha1: m.Dist.Shasum, tarball: m.Dist.Tarball}
}

func (d *npmDirect) manifest(ctx context.Context, pkg, version string) (npmDist, error) {
	const maxManifest = 16 << 20
	addr := d.conf.registry(pkg) + strings.ReplaceAll(pkg, "/", "%2f") + "/" + url.PathEscape(version)
	client, err := d.conf.client(pkg)
	if err != nil {
		return npmDist{}, err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, addr, nil)
	if err != nil {
		return npmDist{}, err
	}
	resp, err := client.Do(req)
	var status *statusError
	if errors.As(err, &status) && status.code == http.StatusNotFound {
		return npmDist{}, fmt.Errorf("%w: the registry has no %s@%s", err, pkg, version)
	}
	if err != nil {
		return npmDist{}, err
	}
	defer resp.Body.Close()
	var m npmManifest
	if err := json.NewDecoder(io.LimitReader(resp.Body, maxManifest)).Decode(&m); err != nil {
		return npmDist{}, fmt.Errorf("manifest of %s@%s: %w", pkg, version, err)
	}
	if m.Version == "" || m.Dist.Tarball == "" {
		return npmDist{}, fmt.Errorf("the registry's answer for %s@%s is no manifest", pkg, version)
	}
	return m.dist(), nil
}

func (d *npmDirect) tarball(ctx context.Context, pkg, version, path string) error {
	dist, err := d.manifest(ctx, pkg, version)
	if err != nil {
		return err
	}
	g := newHTTPGetter(d.job)
	if g.Client, err = d.conf.client(pkg); err != nil {
		return err
	}
	g.Netrc = false
	_, err = client(g).Get(ctx, &getter.Request{Src: dist.tarball, Dst: path, GetMode: getter.ModeFile,
		ProgressListener: &tracker{job: d.job, name: pkg + "@" + version}})
	if err != nil {
		os.Remove(path)
	}
	return err
}
