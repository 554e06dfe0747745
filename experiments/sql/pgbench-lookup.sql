-- The same lookup for pgbench, which knows nothing of the load: "set" gives it :last.
\set id random(1, :last)
SELECT c FROM sbtest1 WHERE id = :id;
