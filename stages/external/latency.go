package external

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"pgpipeline/pipeline/engine"
	"pgpipeline/stages/driver"
)

// loggedPerSecond is how many transactions a second pgbench is to log, about. A line costs it some 2.5 us, a third of what its client
// takes for a short query: to log all of 50,000 a second would change what is measured, 2000 take half a percent of a CPU. A minute of
// them gives percentiles up to 99.9.
const loggedPerSecond = 2000

// share of the transactions to log, from the rate that the run is expected to have.
func (s *Session) share() float64 {
	rate := s.Rate
	if rate <= 0 {
		rate = s.tps
	}
	return min(1, loggedPerSecond/max(rate, 1))
}

// logPrefix begins the names of pgbench's transaction logs, one per thread.
func (s *Session) logPrefix() string { return filepath.Join(s.dir, "transactions") }

func (s *Session) logArgs() []string {
	args := []string{"-l", "--log-prefix=" + s.logPrefix()}
	if share := s.share(); share < 1 {
		args = append(args, "--sampling-rate="+strconv.FormatFloat(share, 'f', 6, 64))
	}
	return args
}

// addLatencies puts into a result what the tool tells of single transactions.
func (s *Session) addLatencies(r *driver.Result, out *Output) error {
	op := r.Operations[""]
	if s.Tool.Name == "sysbench" {
		s.latencyNote = "from its own histogram, in steps of 1.8 %"
		if h := ofBuckets(out.Histogram); s.Rate > 0 { // it counts from when the schedule put a transaction into its queue
			op.Response = h
		} else {
			op.Service = h
		}
		return nil
	}
	l := newTransactionLog(r.Start, r.Seconds, s.Rate > 0)
	if err := l.readAll(s.logPrefix()); err != nil {
		return fmt.Errorf("transaction log of pgbench: %w", err)
	}
	s.latencyNote = "from its log of all transactions, which costs the client some 2.5 us each"
	if share := s.share(); share < 1 {
		s.latencyNote = fmt.Sprintf("from its log of %.0f %% of the transactions, chosen by chance, which costs the client some 2.5 us each; the longest of all is not known",
			share*100)
	} else {
		op.MaxSeconds = float64(l.worst) / 1e9
		r.MaxSeconds = op.MaxSeconds
	}
	if l.service.TotalCount() > 0 {
		op.Service = l.service
		r.Tenths = map[string]engine.Tenths{"": l.tenths}
	}
	if s.Rate > 0 && l.response.TotalCount() > 0 {
		op.Response = l.response
	}
	return nil
}

// newHistogram has the range and the resolution of our own driver's, so that they can be merged and compared.
func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, int64(time.Hour), 3) }

func ofBuckets(buckets []Bucket) *hdrhistogram.Histogram {
	if len(buckets) == 0 {
		return nil
	}
	h := newHistogram()
	for _, b := range buckets {
		_ = h.RecordValues(min(int64(math.Round(b.Seconds*1e9)), int64(time.Hour)), b.Count) // cannot be out of range
	}
	return h
}

// transactionLog is what pgbench wrote of the transactions that ended in a stretch of time.
type transactionLog struct {
	start             time.Time
	paced             bool // a seventh column says how much later than scheduled a transaction began
	service, response *hdrhistogram.Histogram
	tenths            engine.Tenths
	worst             int64 // ns, from the scheduled start
}

func newTransactionLog(start time.Time, seconds float64, paced bool) *transactionLog {
	return &transactionLog{start: start, paced: paced, service: newHistogram(), response: newHistogram(), tenths: make(engine.Tenths, int(seconds*10+1e-6))}
}

// readAll reads the files of all threads and removes them.
func (l *transactionLog) readAll(prefix string) error {
	files, err := filepath.Glob(prefix + ".*")
	if err != nil {
		return err
	}
	for _, path := range files {
		if err := l.readFile(path); err != nil {
			return err
		}
		if err := os.Remove(path); err != nil {
			return err
		}
	}
	return nil
}

func (l *transactionLog) readFile(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		l.line(lines.Text())
	}
	return lines.Err()
}

// line is: client, number, microseconds, script, seconds and microseconds of the end since 1970, and with a rate the microseconds of the
// wait for its start. A transaction that failed or was skipped has a word in place of its time.
func (l *transactionLog) line(text string) {
	fields := strings.Fields(text)
	if len(fields) < 6 {
		return
	}
	var n [7]int64
	for i, f := range fields[:min(len(fields), 7)] {
		v, err := strconv.ParseInt(f, 10, 64)
		if err != nil {
			return
		}
		n[i] = v
	}
	tenth := int(time.Unix(n[4], n[5]*1000).Sub(l.start) / (100 * time.Millisecond))
	if tenth < 0 || time.Unix(n[4], n[5]*1000).Before(l.start) {
		return // of the start, which does not count
	}
	if tenth < len(l.tenths) {
		l.tenths[tenth]++
	}
	response := n[2] * 1000
	service := response
	if l.paced {
		service -= n[6] * 1000
	}
	l.worst = max(l.worst, response)
	_ = l.response.RecordValue(min(response, int64(time.Hour)))
	_ = l.service.RecordValue(min(max(service, 0), int64(time.Hour)))
}
