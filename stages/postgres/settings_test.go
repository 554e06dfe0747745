package postgres_test

import (
	"errors"
	"strings"
	"testing"

	"pgpipeline/stages/postgres"
	"pgpipeline/stages/postgres/pgtest"
)

func TestCheckSettings(t *testing.T) {
	for _, c := range []struct {
		version  string
		settings []postgres.Setting
		want     []string // errors, in order
	}{
		{"17.0", []postgres.Setting{{"shared_buffers", "32MB"}, {"autovacuum_vacuum_cost_delay", "1ms"}, {"pg_stat_statements.max", "10"}}, nil},
		{"17.0", []postgres.Setting{{"zero_damaged_pages", "on"}, {"application_name", `it's a \ test`}}, nil},
		{"17.0", []postgres.Setting{{"shared_bufers", "32MB"}, {"work_mem", "1kB"}, {"jit", "perhaps"}}, []string{
			`setting shared_bufers = "32MB": server 17.0 has no such setting (did you mean "shared_buffers"?)`,
			`setting work_mem = "1kB": 1 kB is outside the valid range for parameter "work_mem" (64 kB .. 2147483647 kB)`,
			`setting jit = "perhaps": parameter "jit" requires a Boolean value`,
		}},
		{"17.0", []postgres.Setting{{"wal_compression", "lz4"}}, []string{
			`setting wal_compression = "lz4": invalid value for parameter "wal_compression": "lz4" (Available values: pglz, on, off.)`,
		}},
		{"17.0", []postgres.Setting{{"shared_buffers", "3apples"}, {"io_method", "worker"}}, []string{
			`setting io_method = "worker": server 17.0 has no such setting`,
			`setting shared_buffers = "3apples": invalid value for parameter "shared_buffers": "3apples" ` +
				`(Valid units for this parameter are "B", "kB", "MB", "GB", and "TB".)`,
		}},
		{"17.0", []postgres.Setting{{"datestyle", "nonsense"}}, []string{
			`setting datestyle = "nonsense": invalid value for parameter "DateStyle": "nonsense"`,
		}},
		{"17.0", []postgres.Setting{{"shared_preload_libraries", "pg_nope"}}, []string{
			`setting shared_preload_libraries = "pg_nope": server 17.0 has no library "pg_nope" (build it with contrib, or leave it out)`,
		}},
		{"system", []postgres.Setting{{"shared_preload_libraries", "pg_stat_statements, auto_explain"}, {"wal_compression", "lz4"}}, nil},
		{"11.21", []postgres.Setting{{"vacuum_buffer_usage_limit", "256MB"}, {"jit", "off"}, {"wal_compression", "lz4"}}, []string{
			`setting vacuum_buffer_usage_limit = "256MB": server 11.21 has no such setting`,
			`setting wal_compression = "lz4": parameter "wal_compression" requires a Boolean value`,
		}},
	} {
		err := pgtest.Install(t, c.version).CheckSettings(t.Context(), c.settings)
		var got []string
		if err != nil {
			got = strings.Split(err.Error(), "\n")
		}
		if strings.Join(got, "\n") != strings.Join(c.want, "\n") {
			t.Errorf("%s %v:\ngot  %s\nwant %s", c.version, c.settings, strings.Join(got, "\n     "), strings.Join(c.want, "\n     "))
		}
	}
}

func TestSettingErrorsSayWhatIsWrong(t *testing.T) {
	err := pgtest.Install(t, "17.0").CheckSettings(t.Context(), []postgres.Setting{{"io_method", "worker"}})
	var setting *postgres.SettingError
	if !errors.As(err, &setting) || !setting.Unknown || setting.Name != "io_method" {
		t.Errorf("%+v", setting)
	}
}

func BenchmarkCheckSettings(b *testing.B) {
	i := pgtest.Install(b, "17.0")
	for b.Loop() {
		if err := i.CheckSettings(b.Context(), []postgres.Setting{{"shared_buffers", "1GB"}, {"work_mem", "4MB"}}); err != nil {
			b.Fatal(err)
		}
	}
}
