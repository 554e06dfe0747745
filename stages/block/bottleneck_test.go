package block

import (
	"strings"
	"testing"

	"pgpipeline/pipeline/engine"
)

func TestClientsThatLimitAreMarked(t *testing.T) {
	for _, c := range []struct {
		server, client     float64
		serverOn, clientOn []int
		want               string
	}{
		{server: 8, client: 3},
		{server: 3, client: 8, want: "8.0 us of CPU time for each of the queries, the server 3.0 us"},
		{server: 5, client: 4, serverOn: []int{1}, clientOn: []int{0}},
		{server: 9.9, client: 9.5, serverOn: []int{1}, clientOn: []int{0}, want: "its 1 CPUs were 95 % busy"},
		{server: 9.9, client: 9.5, serverOn: []int{0, 1}, clientOn: []int{0, 1}}, // the CPUs are not its own
		{server: 0, client: 5}, // nothing is known of the server
	} {
		k := &collector{block: &block{Options: Options{ServerCPUs: c.serverOn, ClientCPUs: c.clientOn}}, counted: 10,
			m: engine.Measurement{Unit: "queries", Cost: map[string]float64{engine.CostServerCPU: c.server, engine.CostClientCPU: c.client, engine.CostOperations: 1e6}}}
		k.checkClient()
		if got := strings.Join(k.m.Warnings, "\n"); !strings.Contains(got, c.want) || c.want == "" && got != "" {
			t.Errorf("%+v: %q", c, got)
		}
	}
}
