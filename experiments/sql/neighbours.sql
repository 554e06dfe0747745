-- The rows around a key. :width comes from the experiment ("set").
\set id random(1, :rows - :width)
\set last :id + :width
SELECT id, k FROM sbtest1 WHERE id BETWEEN :id AND :last ORDER BY k LIMIT 10;
