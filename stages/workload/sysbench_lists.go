package workload

import "time"

// refs makes references from names.
func refs(names ...string) []StepRef {
	var list []StepRef
	for _, n := range names {
		list = append(list, StepRef{Step: n})
	}
	return list
}

// listA is the order of the 42 steps that was in use from February 2023 to March 2025. Its step 0, which loads and warms up, is the
// business of the stages load and run here.
func listA(p Params) []StepRef {
	list := refs("point-query.pre", "random-points.pre_range=10", "random-points.pre_range=100", "random-points.pre_range=1000",
		"read-only.pre_range=10", "read-only.pre_range=100", "read-only.pre_range=10000",
		"points-covered-pk.pre", "points-notcovered-pk.pre", "points-covered-si.pre", "points-notcovered-si.pre",
		"range-covered-pk.pre", "range-notcovered-pk.pre", "range-covered-si.pre", "range-notcovered-si.pre",
		"update-inlist", "update-index", "update-nonindex", "update-one", "update-zipf", "write-only",
		"read-write_range=10", "read-write_range=100", Postwrite,
		"read-only_range=10", "read-only_range=100", "read-only_range=10000", "point-query",
		"random-points_range=10", "random-points_range=100", "random-points_range=1000", "hot-points",
		"points-covered-pk", "points-notcovered-pk", "points-covered-si", "points-notcovered-si",
		"range-covered-pk", "range-notcovered-pk", "range-covered-si", "range-notcovered-si")
	list = append(list, StepRef{Step: "scan", Clients: p.Tables}) // each table once
	return append(list, refs("delete", "insert")...)
}

// listB is the order in use since April 2025, without its loading step.
func listB(p Params) []StepRef {
	const minute = time.Minute
	list := []StepRef{{Step: "scan.warmpre", Duration: minute}}
	list = append(list, refs("point-query.pre", "range-notcovered-si.pre",
		"update-inlist", "update-index", "update-nonindex", "update-one", "update-zipf", "write-only",
		"read-write_range=10", "read-write_range=100", Postwrite)...)
	list = append(list, StepRef{Step: "scan.warm", Duration: minute})
	return append(list, refs("scan", "read-only_range=10", "read-only_range=100", "read-only_range=10000",
		"read-only-simple", "read-only-sum", "read-only-order", "read-only-distinct", "read-only-count", "point-query",
		"random-points_range=10", "random-points_range=100", "random-points_range=1000", "hot-points",
		"points-covered-pk", "points-notcovered-pk", "range-covered-pk", "range-notcovered-pk",
		"points-covered-si.warm", "points-covered-si", "points-notcovered-si", "range-covered-si", "range-notcovered-si",
		"delete", "insert")...)
}

// sysbenchGroups are the five groups of the posts of 2023 and 2024 (point-1, point-2, range-1, range-2, writes) and the four of 2025
// and 2026 (points, ranges, aggregates, writes; the writes are the same ten).
var sysbenchGroups = map[string][]string{
	"point-1": {"hot-points", "point-query.pre", "point-query", "points-covered-pk.pre", "points-covered-pk",
		"points-notcovered-pk.pre", "points-notcovered-pk", "points-covered-si.pre", "points-covered-si",
		"points-notcovered-si.pre", "points-notcovered-si"},
	"point-2": {"random-points.pre", "random-points"},
	"range-1": {"range-covered-pk.pre", "range-covered-pk", "range-notcovered-pk.pre", "range-notcovered-pk",
		"range-covered-si.pre", "range-covered-si", "range-notcovered-si.pre", "range-notcovered-si", "scan"},
	"range-2": {"read-only.pre", "read-only"},
	"points": {"hot-points", "point-query", "points-covered-pk", "points-notcovered-pk", "points-covered-si", "points-notcovered-si",
		"random-points"},
	"ranges": {"range-covered-pk", "range-notcovered-pk", "range-covered-si", "range-notcovered-si", "scan"},
	"aggregates": {"read-only-count", "read-only-distinct", "read-only-order", "read-only-simple", "read-only-sum",
		"read-only"},
	"writes": {"delete", "insert", "read-write", "update-index", "update-inlist", "update-nonindex", "update-one", "update-zipf",
		"write-only"},
}
