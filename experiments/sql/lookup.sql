-- One row by its key. :rows is the number of rows of a table of the load.
\set id random(1, :rows)
SELECT c FROM sbtest1 WHERE id = :id;
