-- A transaction of two updates. Few rows get most of them, as accounts do.
\set from random_zipfian(1, :rows, 1.1)
\set to random(1, :rows)
\set amount random(1, :most)
BEGIN;
UPDATE sbtest1 SET k = k - :amount WHERE id = :from;
UPDATE sbtest1 SET k = k + :amount WHERE id = :to;
COMMIT;
