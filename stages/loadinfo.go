package stages

import (
	"pgpipeline/stages/postgres"
	"pgpipeline/stages/workload"
)

// What a load entry holds.
const (
	dataDir      = "data"
	loadInfoFile = "load.json"
)

// LoadInfo is what a load entry says about itself.
type LoadInfo struct {
	Workload  string `json:"workload"`
	Tables    int    `json:"tables"`
	Rows      int64  `json:"rows"`       // of each table
	TotalRows int64  `json:"total_rows"` // that were loaded
	Seed      uint64 `json:"seed"`
	Clients   int    `json:"clients"`
	Through   string `json:"through,omitempty"`
	// Insert is what makes data of the insert benchmark different.
	Insert     workload.Insert `json:"insert,omitzero"`
	PrimaryKey bool            `json:"primary_key"`
	Bytes      int64           `json:"bytes"`      // of the database
	DataBytes  int64           `json:"data_bytes"` // of the data directory

	Version          string   `json:"version"` // of the server that made it
	VersionNum       int      `json:"version_num"`
	CatalogVersion   uint32   `json:"catalog_version"`
	SystemIdentifier string   `json:"system_identifier"`
	Checksums        bool     `json:"checksums"`
	WALSegmentSize   uint32   `json:"wal_segment_size"` // bytes
	InitDB           []string `json:"initdb,omitempty"`

	Profile       []postgres.Setting `json:"profile"` // settings that it was loaded under
	Seconds       float64            `json:"seconds"`
	CopySeconds   float64            `json:"copy_seconds"`
	IndexSeconds  float64            `json:"index_seconds"`
	VacuumSeconds float64            `json:"vacuum_seconds"`
}

// ReadLoad reads what the load entry in dir says about itself. Its data directory is dir/data.
func ReadLoad(dir string) (LoadInfo, error) {
	var info LoadInfo
	return info, readInfo(dir, loadInfoFile, "load", &info)
}
