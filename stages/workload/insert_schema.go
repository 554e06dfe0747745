package workload

import "fmt"

// createInsertTable is a table with its primary key. The sequence hands out ids in portions of 1000, so that there are gaps where a session
// ended.
func createInsertTable(table string, p Params) []string {
	price := "int"
	if p.Insert.Schema == Schema2023 {
		price = "real"
	}
	columns := "(transactionid BIGSERIAL PRIMARY KEY, dateandtime timestamp without time zone, cashregisterid int NOT NULL, " +
		"customerid int NOT NULL, productid int NOT NULL, price " + price + " NOT NULL, data varchar(4000))"
	sql := []string{"CREATE TABLE " + table + " " + columns}
	if n := int64(p.Insert.Partitions); n > 0 {
		sql[0] += " PARTITION BY RANGE (transactionid)"
		rows := max(1, (p.Rows+p.Insert.MoreRows+n-1)/n)
		for i := range n {
			from, to := fmt.Sprint(i*rows+1), fmt.Sprint((i+1)*rows+1)
			if i == 0 {
				from = "MINVALUE"
			}
			if i == n-1 {
				to = "MAXVALUE"
			}
			sql = append(sql, fmt.Sprintf("CREATE TABLE %s_p%d PARTITION OF %s FOR VALUES FROM (%s) TO (%s)", table, i+1, table, from, to))
		}
	}
	return append(sql, "ALTER SEQUENCE "+table+"_transactionid_seq CACHE 1000")
}

// secondaryIndex is one index of l.x.
type secondaryIndex struct{ suffix, columns string }

func secondaryIndexes(schema string) []secondaryIndex {
	if schema == Schema2023 {
		return []secondaryIndex{{"_marketsegment", "price, customerid"}, {"_registersegment", "cashregisterid, price, customerid"},
			{"_pdc", "price, dateandtime, customerid"}}
	}
	return []secondaryIndex{{"_marketsegment", "productid, customerid, price"}, {"_registersegment", "cashregisterid, customerid, price"},
		{"_pdc", "price, dateandtime, customerid"}}
}

func createInsertIndexes(table, schema string) []string {
	var sql []string
	for _, x := range secondaryIndexes(schema) {
		sql = append(sql, fmt.Sprintf("CREATE INDEX %s%s ON %s (%s)", table, x.suffix, table, x.columns))
	}
	return sql
}

// rangeSQL are the three range queries: the ten first entries of an index from a random point on, from the index alone.
func rangeSQL(table, schema string) []string {
	market := "SELECT productid, customerid, price FROM %[1]s WHERE productid >= $1 ORDER BY productid, customerid, price LIMIT 10"
	register := "SELECT cashregisterid, customerid, price FROM %[1]s WHERE cashregisterid > $1 ORDER BY cashregisterid, customerid, price LIMIT 10"
	if schema == Schema2023 {
		market = "SELECT price, customerid FROM %[1]s WHERE price >= $1 ORDER BY price, customerid LIMIT 10"
		register = "SELECT cashregisterid, price, customerid FROM %[1]s WHERE cashregisterid > $1 ORDER BY cashregisterid, price, customerid LIMIT 10"
	}
	pdc := "SELECT price, dateandtime, customerid FROM %[1]s WHERE price >= $1 ORDER BY price, dateandtime, customerid LIMIT 10"
	return []string{fmt.Sprintf(market, table), fmt.Sprintf(register, table), fmt.Sprintf(pdc, table)}
}

// pointsPerQuery is the number of ids of a point query.
const pointsPerQuery = 10

func pointSQL(table string) string {
	return "SELECT transactionid, productid, data FROM " + table + " WHERE transactionid IN (" + placeholders(1, pointsPerQuery) + ")"
}
