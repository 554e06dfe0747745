package source

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"net/url"
	"os"
	"regexp"
	"strings"

	"github.com/hashicorp/go-getter/v2"
)

// npmGetter fetches a package of the npm registry: npm::PACKAGE@VERSION. VERSION may be a tag such as "latest", which is also
// what its absence means. The npm client is asked where there is one, so that all of its configuration counts. Where
// there is none, as on a machine without Node, the registry is read directly with what npmrc files say about registries,
// certificates, proxies and tokens (npmrc.go). No script of a package is ever run.
//
// The registry's sha512 (dist.integrity) becomes part of the resolved address and is verified in either case.
type npmGetter struct{ job *job }

func (g *npmGetter) name() string { return "npm" }

// Detect implements getter.Getter.
func (g *npmGetter) Detect(req *getter.Request) (bool, error) { return req.Forced == "npm", nil }

// Mode implements getter.Getter.
func (g *npmGetter) Mode(context.Context, *url.URL) (getter.Mode, error) { return getter.ModeFile, nil }

// Get implements getter.Getter.
func (g *npmGetter) Get(context.Context, *getter.Request) error {
	return errors.New("an npm package is fetched as a file")
}

// A registry is a way to reach the npm registry.
type registry interface {
	// manifest returns the exact version that a version or tag stands for, and the sha512 of its tarball in hexadecimal.
	manifest(ctx context.Context, pkg, version string) (npmDist, error)
	// tarball writes the package's file to path.
	tarball(ctx context.Context, pkg, version, path string) error
}

type npmDist struct{ version, sha512, sha1, tarball string }

// registry prefers the npm client.
func (g *npmGetter) registry() (registry, error) {
	if npm := findNPM(); npm != "" {
		return &npmClient{job: g.job, path: npm}, nil
	}
	conf, err := loadNpmrc()
	if err != nil {
		return nil, err
	}
	return &npmDirect{job: g.job, conf: conf}, nil
}

var (
	npmName    = regexp.MustCompile(`^(@[a-z0-9~][a-z0-9._~-]*/)?[a-z0-9~][a-z0-9._~-]*$`)
	npmVersion = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9.+-]*$`)
)

// splitNPM takes "@scope/name@version" apart.
func splitNPM(src string) (pkg, version string, err error) {
	pkg, version = src, "latest"
	if i := strings.LastIndexByte(src, '@'); i > 0 {
		pkg, version = src[:i], src[i+1:]
	}
	if !npmName.MatchString(pkg) {
		return "", "", fmt.Errorf("%q is not the name of an npm package", pkg)
	}
	if !npmVersion.MatchString(version) {
		return "", "", fmt.Errorf("%q is not a version: write an exact one or a tag such as latest", version)
	}
	return pkg, version, nil
}

func (g *npmGetter) check(a *address) error {
	_, _, err := splitNPM(a.src)
	return err
}

func (g *npmGetter) resolve(ctx context.Context, a *address) (Resolved, error) {
	pkg, version, err := splitNPM(a.src)
	if err != nil {
		return Resolved{}, err
	}
	if d, err := parseDigest(a.checksum, ""); err == nil && d.strong() { // fixed already
		return Resolved{Address: g.fixed(a, pkg, version, d), Version: packagedVersion(version), Verified: d.algorithm + " of the npm registry"}, nil
	} else if a.checksum != "" {
		return Resolved{}, errors.New("checksum= of an npm package must be a sha512 or sha256")
	}
	reg, err := g.registry()
	if err != nil {
		return Resolved{}, err
	}
	dist, err := reg.manifest(ctx, pkg, version)
	if err != nil {
		return Resolved{}, err
	}
	if dist.sha512 == "" {
		return Resolved{}, fmt.Errorf("the registry gives no sha512 for %s@%s", pkg, version)
	}
	r := Resolved{Address: g.fixed(a, pkg, dist.version, digest{algorithm: "sha512", hex: dist.sha512}),
		Version: packagedVersion(dist.version), Verified: "sha512 of the npm registry"}
	if dist.version != version {
		r.Notes = append(r.Notes, fmt.Sprintf("%s of %s is version %s", version, pkg, dist.version))
	}
	return r, nil
}

func (g *npmGetter) fixed(a *address, pkg, version string, d digest) string {
	return "npm::" + a.fixed(pkg+"@"+version, url.Values{"checksum": {d.String()}})
}

// packagedVersion drops what a packager adds to the version of what is in the package: 17.0.0-beta.13 has 17.0 in it, and
// 11.22.1-beta.9 is the packager's second try at 11.22.
func packagedVersion(v string) string {
	if m := regexp.MustCompile(`^(\d+\.\d+)\.\d+-(?:beta|rc|alpha)\.`).FindStringSubmatch(v); m != nil {
		return m[1]
	}
	return v
}

// GetFile implements getter.Getter.
func (g *npmGetter) GetFile(ctx context.Context, req *getter.Request) error {
	pkg, version, err := splitNPM(req.Src)
	if err != nil {
		return err
	}
	reg, err := g.registry()
	if err != nil {
		return err
	}
	if err := reg.tarball(ctx, pkg, version, req.Dst); err != nil {
		os.Remove(req.Dst)
		return err
	}
	return nil
}

// sha512Of reads npm's "sha512-BASE64 sha1-BASE64 ..." notation.
func sha512Of(integrity string) string {
	for _, part := range strings.Fields(integrity) {
		if b64, ok := strings.CutPrefix(part, "sha512-"); ok {
			b64, _, _ = strings.Cut(b64, "?")
			if raw, err := base64.StdEncoding.DecodeString(b64); err == nil {
				return hex.EncodeToString(raw)
			}
		}
	}
	return ""
}
