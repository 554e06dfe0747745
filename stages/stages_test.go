package stages

import (
	"testing"

	"pgpipeline/pipeline/engine/enginetest"
)

func TestConformance(t *testing.T) { enginetest.Conform(t, All) }
