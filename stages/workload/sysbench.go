package workload

import "fmt"

// sysbench is the family of 42 microbenchmarks. What differs from the scripts that it follows is said at each kind:
//
//   - parameters of type CHAR are bound as bpchar, not as the one-byte type "char", so an UPDATE stores the whole string;
//   - write-only runs for the time of a writing step, not of a reading one;
//   - deletes that find nothing are queries all the same; the rows that were really deleted are counted beside them;
//   - scan has one definition: rows of all scanned tables divided by the time from the common start to the end of the last client.
var sysbench = &Workload{
	Name: "sysbench",
	Doc:  "tables sbtest1..N of the sysbench schema and the microbenchmarks over them",
	Kinds: []Kind{
		read("point-query", "SELECT c by primary key", pre, one(100), pointQuery),
		read("random-points", "SELECT c WHERE id IN (N random ids)", pre, []int{10, 100, 1000}, inList("SELECT c", "id")),
		read("hot-points", "SELECT c WHERE id IN (the same 100 adjacent ids)", nil, one(100), hotPoints),
		read("points-covered-pk", "SELECT id WHERE id IN (100)", pre, one(100), inList("SELECT id", "id")),
		read("points-notcovered-pk", "SELECT id, c WHERE id IN (100)", pre, one(100), inList("SELECT id, c", "id")),
		read("points-covered-si", "SELECT k WHERE k IN (100)", []string{"pre", "warm"}, one(100), inList("SELECT k", "k")),
		read("points-notcovered-si", "SELECT k, c WHERE k IN (100)", pre, one(100), inList("SELECT k, c", "k")),
		read("range-covered-pk", "SELECT id over a range of 101 ids", pre, one(100), between("SELECT id", "id")),
		read("range-notcovered-pk", "SELECT id, c over a range of 101 ids", pre, one(100), between("SELECT id, c", "id")),
		read("range-covered-si", "SELECT k over 101 values of k", pre, one(100), between("SELECT k", "k")),
		read("range-notcovered-si", "SELECT k, c over 101 values of k", pre, one(100), between("SELECT k, c", "k")),
		read("read-only", "transaction of 10 point and 4 range queries", pre, []int{10, 100, 10000}, readOnly(allRanges...)),
		read("read-only-simple", "transaction of 10 point queries and a range", nil, one(1000), readOnly(simpleRange)),
		read("read-only-sum", "transaction of 10 point queries and SUM(k) of a range", nil, one(1000), readOnly(sumRange)),
		read("read-only-order", "transaction of 10 point queries and a sorted range", nil, one(1000), readOnly(orderRange)),
		read("read-only-distinct", "transaction of 10 point queries and DISTINCT c of a range", nil, one(1000), readOnly(distinctRange)),
		read("read-only-count", "COUNT(c) of a range", nil, one(1000), readCount),
		scanKind(),
		write("update-inlist", "UPDATE c WHERE id IN (100 random ids)", one(100), updateInList),
		write("update-index", "UPDATE k = k+1 by primary key: an indexed column", one(100), updateIndex),
		write("update-nonindex", "UPDATE c by primary key: a column without index", one(100), updateNonIndex),
		write("update-one", "UPDATE c of row 1: clients wait for each other", one(100), updateOne),
		write("update-zipf", "UPDATE c by primary key, hot ids (zipf 0.8)", one(100), updateZipf),
		write("write-only", "transaction of 2 updates, a delete and an insert", one(10000), writeOnly),
		write("read-write", "read-only and write-only in one transaction", []int{10, 100}, readWrite),
		write("delete", "DELETE by primary key; ids may be gone already", one(100), deleteStep),
		write("insert", "INSERT of one row, as plain SQL text", one(100), insertStep),
	},
	Lists: map[string]func(Params) []StepRef{
		"sysbench-a": listA,
		"sysbench-b": listB,
	},
	Groups: sysbenchGroups,
	Tables: sysbenchTables,
	Load:   loadSysbench,
}

var pre = []string{"pre"}

func one(r int) []int { return []int{r} }

func read(name, doc string, tags []string, ranges []int, program programFunc) Kind {
	return Kind{Name: name, Doc: doc, Class: Steady, Unit: "queries", Tags: tags, Ranges: ranges, Program: program}
}

func write(name, doc string, ranges []int, program programFunc) Kind {
	return Kind{Name: name, Doc: doc, Class: Whole, Writes: true, Unit: "queries", Ranges: ranges, Program: program}
}

func scanKind() Kind {
	return Kind{Name: "scan", Doc: "full scan of a table that returns nothing", Class: Steady, Unit: "rows", Ranges: one(100),
		Tags: []string{"warm", "warmpre"}, Pass: true, Program: scan}
}

// tableName of the i-th table, from 0.
func tableName(i int) string { return fmt.Sprintf("sbtest%d", i+1) }

func sysbenchTables(p Params) []string {
	var names []string
	for i := range p.Tables {
		names = append(names, tableName(i))
	}
	return names
}
