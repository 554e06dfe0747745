package source

import (
	"context"
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

// httpGetter is go-getter's getter for http and https, with a client of ours: no downgrade to http, no endless wait, and
// a few attempts when the server or the way to it is at fault. User and password come from the address or from ~/.netrc.
type httpGetter struct {
	getter.HttpGetter
	job *job
}

func newHTTPGetter(j *job) *httpGetter {
	return &httpGetter{job: j, HttpGetter: getter.HttpGetter{Netrc: true, DoNotCheckHeadFirst: true, XTerraformGetDisabled: true}}
}

func newHTTPClient(proxy func(*http.Request) (*url.URL, error)) *http.Client {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = proxy
	transport.ResponseHeaderTimeout = stallLimit
	// A .tar.gz that a server labels as "Content-Encoding: gzip" must stay as it is, or its checksum does not fit.
	transport.DisableCompression = true
	transport.DisableKeepAlives = true
	return &http.Client{Transport: statusTransport{transport}, CheckRedirect: checkRedirect}
}

func checkRedirect(req *http.Request, via []*http.Request) error {
	if len(via) >= 10 {
		return errors.New("more than 10 redirections")
	}
	if via[0].URL.Scheme == "https" && req.URL.Scheme != "https" {
		return fmt.Errorf("refused: %s redirects from https to %s", via[0].URL.Host, req.URL.Scheme)
	}
	return nil
}

// statusError is an answer that is not the file.
type statusError struct {
	code int
	host string
}

func (e *statusError) Error() string {
	return fmt.Sprintf("%s answered %d %s", e.host, e.code, http.StatusText(e.code))
}

// statusTransport makes errors of answers that are not wanted, so that they can be told apart after go-getter.
type statusTransport struct{ next http.RoundTripper }

func (t statusTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	req.Header.Set("User-Agent", "pipeline")
	resp, err := t.next.RoundTrip(req)
	if err == nil && resp.StatusCode >= 400 {
		resp.Body.Close()
		return nil, &statusError{resp.StatusCode, req.URL.Host}
	}
	return resp, err
}

func (g *httpGetter) name() string { return "http" }

// GetFile implements getter.Getter.
func (g *httpGetter) GetFile(ctx context.Context, req *getter.Request) error {
	const attempts = 3
	if g.Client == nil { // only now: most getters are made to take an address apart
		g.Client = newHTTPClient(http.ProxyFromEnvironment)
	}
	var err error
	for i := range attempts {
		if i > 0 {
			g.job.logf("%v; attempt %d of %d", err, i+1, attempts)
			select {
			case <-time.After(time.Duration(i) * time.Second):
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		if err = g.once(ctx, req); err == nil || ctx.Err() != nil || !transient(err) {
			break
		}
	}
	if err != nil {
		os.Remove(req.Dst)
	}
	return err
}

func (g *httpGetter) once(ctx context.Context, req *getter.Request) error {
	// go-getter would continue a file that is there, whatever it is the beginning of.
	if err := os.Remove(req.Dst); err != nil && !os.IsNotExist(err) {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timer := time.AfterFunc(2*stallLimit, func() { cancel(errStalled) })
	defer timer.Stop()
	attempt := *req
	if attempt.ProgressListener == nil {
		attempt.ProgressListener = &tracker{job: g.job, name: req.URL().Path}
	}
	attempt.ProgressListener = &watchdog{attempt.ProgressListener, timer}
	err := g.HttpGetter.GetFile(ctx, &attempt)
	if err != nil && errors.Is(context.Cause(ctx), errStalled) {
		return errStalled
	}
	return err
}

// watchdog puts off the end of a download whenever something arrives.
type watchdog struct {
	getter.ProgressTracker
	timer *time.Timer
}

func (w *watchdog) TrackProgress(src string, have, total int64, stream io.ReadCloser) io.ReadCloser {
	return &watchedReader{w.ProgressTracker.TrackProgress(src, have, total, stream), w.timer}
}

type watchedReader struct {
	io.ReadCloser
	timer *time.Timer
}

func (r *watchedReader) Read(p []byte) (int, error) {
	r.timer.Reset(stallLimit)
	return r.ReadCloser.Read(p)
}

// transient says whether another attempt may do better.
func transient(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.code == http.StatusTooManyRequests || status.code >= 500 && status.code != http.StatusNotImplemented
	}
	var dial *url.Error
	if errors.As(err, &dial) {
		return dial.Timeout() || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || strings.Contains(err.Error(), "connection reset")
	}
	return errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrShortWrite) || errors.Is(err, errStalled) ||
		strings.Contains(err.Error(), "connection reset")
}

// resolve needs the network only when nobody says what the file's checksum is: then the file itself has to be looked at.
func (g *httpGetter) resolve(ctx context.Context, a *address) (Resolved, error) {
	u, err := url.Parse(a.src)
	if err != nil {
		return Resolved{}, err
	}
	if u.Host == "" || strings.HasSuffix(u.Path, "/") || u.Path == "" {
		return Resolved{}, errors.New("the address names no file")
	}
	if strings.HasSuffix(u.Path, ".git") {
		return Resolved{}, fmt.Errorf("this looks like a git repository; write git::%s", Mask(a.given))
	}
	return g.job.resolveFile(ctx, a, a.fixed(a.src, a.query))
}

// resolveFile pins a file that does not move but whose checksum may be unknown.
func (j *job) resolveFile(ctx context.Context, a *address, fixed string) (Resolved, error) {
	r := Resolved{Address: fixed, Version: versionIn(a.fileName())}
	wanted, err := j.wanted(ctx, a)
	if err != nil {
		return Resolved{}, err
	}
	for _, d := range wanted {
		if d.algorithm == "sha256" {
			r.SHA256, r.Verified = d.hex, "sha256 of "+d.origin
		}
	}
	if r.SHA256 != "" {
		return r, nil
	}
	path, err := j.get(ctx, a)
	if err != nil {
		return Resolved{}, err
	}
	defer os.Remove(path)
	if r.SHA256, err = verifyFile(path, Mask(a.given), wanted); err != nil {
		return Resolved{}, err
	}
	r.Verified = Unverified
	for _, d := range wanted {
		r.Verified = d.algorithm + " of " + d.origin
		if !d.strong() {
			r.Notes = append(r.Notes, fmt.Sprintf("%s is weak: the sha256 is %s", d.algorithm, r.SHA256))
		}
	}
	if len(wanted) == 0 {
		r.Notes = append(r.Notes, fmt.Sprintf("no checksum was given; the file that came has sha256 %s", r.SHA256))
	}
	j.Held.keep(r.SHA256, path)
	return r, nil
}
