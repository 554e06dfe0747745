package engine

import (
	"encoding/json"

	"pgpipeline/pipeline/internal/store"
)

// KeepRecord stores a record that no plan made, such as imported results, with its blocks, as the run that it names.
func KeepRecord(run *store.Run, rec *Record) error {
	for i := range rec.Blocks {
		text, err := json.Marshal(rec.Blocks[i])
		if err != nil {
			return err
		}
		if err := run.AppendBlock(rec.Blocks[i].EvidenceKey, text); err != nil {
			return err
		}
	}
	bare := *rec
	bare.Blocks = nil
	text, err := json.MarshalIndent(bare, "", " ")
	if err != nil {
		return err
	}
	summary, err := json.Marshal(summarize(&bare, rec.Blocks))
	if err != nil {
		return err
	}
	return run.Save(text, summary)
}
