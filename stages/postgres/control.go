package postgres

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Control is what global/pg_control says about a data directory. It is read without pg_controldata, which prebuilt
// install trees lack.
type Control struct {
	Major            int    // of PG_VERSION
	SystemIdentifier uint64 // of the cluster
	ControlVersion   uint32 // of the file's format
	CatalogVersion   uint32 // changes with every incompatible server
	State            string // "shut down", "in production", ...
	Checkpoint       uint64 // position of the last checkpoint in the log
	Timeline         uint32 // of that checkpoint
	BlockSize        uint32
	WALBlockSize     uint32
	WALSegmentSize   uint32
	MaxAlign         uint32
	Checksums        bool
}

// clusterStates by number, as the server names them. "unknown" has an empty name.
var clusterStates = []string{
	"starting up", "shut down", "shut down in recovery", "shutting down", "in crash recovery", "in archive recovery", "in production",
}

// floatMark is the value of the control file's floatFormat field. Its place moves between versions with the checkpoint
// and the settings before it; what follows it has been the same in all of them.
var floatMark = binary.NativeEndian.AppendUint64(nil, math.Float64bits(1234567.0))

// ControlFile reads the control file of a data directory and checks its checksum.
func ControlFile(dataDir string) (Control, error) {
	major, err := dataMajor(dataDir)
	if err != nil {
		return Control{}, err
	}
	text, err := os.ReadFile(filepath.Join(dataDir, "global", "pg_control"))
	if err != nil {
		return Control{}, fmt.Errorf("data directory: %w", err)
	}
	c, err := parseControl(text)
	if err != nil {
		return Control{}, fmt.Errorf("%s: %w", filepath.Join(dataDir, "global", "pg_control"), err)
	}
	c.Major = major
	return c, nil
}

func dataMajor(dataDir string) (int, error) {
	text, err := os.ReadFile(filepath.Join(dataDir, "PG_VERSION"))
	if errors.Is(err, os.ErrNotExist) {
		return 0, fmt.Errorf("data directory: %s is not one: it has no PG_VERSION", dataDir)
	}
	if err != nil {
		return 0, fmt.Errorf("data directory: %w", err)
	}
	major, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return 0, fmt.Errorf("data directory: %s/PG_VERSION holds %q", dataDir, text)
	}
	return major, nil
}

func parseControl(b []byte) (Control, error) {
	u32 := func(at int) uint32 { return binary.NativeEndian.Uint32(b[at:]) }
	if len(b) < 512 {
		return Control{}, fmt.Errorf("%d bytes are too few for a control file", len(b))
	}
	if v := u32(8); v == 0 || v%65536 == 0 {
		return Control{}, errors.New("it was written on a machine with the other byte order")
	}
	mark := findMark(b[:512])
	if mark < 0 {
		return Control{}, errors.New("it is damaged or of a version that is not known")
	}
	c := Control{
		SystemIdentifier: binary.NativeEndian.Uint64(b),
		ControlVersion:   u32(8),
		CatalogVersion:   u32(12),
		State:            stateName(u32(16)),
		Checkpoint:       binary.NativeEndian.Uint64(b[32:]),
		Timeline:         u32(48),
		MaxAlign:         max(u32(mark-4), u32(mark-8)), // next to the mark or before padding, which is zero
		BlockSize:        u32(mark + 8),
		WALBlockSize:     u32(mark + 16),
		WALSegmentSize:   u32(mark + 20),
	}
	checksums := mark + 44 // after four more sizes and the flags
	c.Checksums = u32(checksums) != 0
	if !checksumFits(b, checksums+4) {
		return Control{}, errors.New("its checksum is wrong: it is damaged, or was copied while the server ran")
	}
	return c, nil
}

// findMark returns the offset of floatFormat, or -1.
func findMark(b []byte) int {
	for at := 48; at+80 < len(b); at += 8 {
		if bytes.Equal(b[at:at+8], floatMark) {
			return at
		}
	}
	return -1
}

// checksumFits looks for the CRC-32C behind the authentication nonce of 32 bytes. Version 18 put a flag before the nonce;
// a later one may add more.
func checksumFits(b []byte, after int) bool {
	table := crc32.MakeTable(crc32.Castagnoli)
	for at := after + 32; at <= after+64; at += 4 {
		if crc32.Checksum(b[:at], table) == binary.NativeEndian.Uint32(b[at:]) {
			return true
		}
	}
	return false
}

func stateName(n uint32) string {
	if int(n) < len(clusterStates) {
		return clusterStates[n]
	}
	return fmt.Sprintf("state %d", n)
}

// ShutDown says whether the data directory was left by a clean shutdown and needs no recovery.
func (c Control) ShutDown() bool { return c.State == "shut down" }

// Fits says whether a server can run on the data directory, as far as that is known without trying: a server compares
// the catalog version too, but does not tell its own. What remains is the first line of Start's error.
func (c Control) Fits(i Install) error {
	if c.Major != i.Major() {
		return fmt.Errorf("the data directory was made by version %d and does not fit a server of version %s; load it with a build of that version",
			c.Major, i.Version)
	}
	return nil
}
