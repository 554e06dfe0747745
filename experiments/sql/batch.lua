-- Reads a batch of random rows by their keys, in one prepared statement.
sysbench.cmdline.options = {
  batch = {"Keys in a statement", 10},
}

function thread_init()
  connection = sysbench.sql.driver():connect()
  last = tonumber(connection:query_row("SELECT max(id) FROM sbtest1"))
  local marks = {}
  for i = 1, sysbench.opt.batch do marks[i] = "?" end
  statement = connection:prepare("SELECT c FROM sbtest1 WHERE id IN (" .. table.concat(marks, ", ") .. ")")
  keys = {}
  for i = 1, sysbench.opt.batch do keys[i] = statement:bind_create(sysbench.sql.type.INT) end
  statement:bind_param(unpack(keys))
end

function event()
  for i = 1, sysbench.opt.batch do keys[i]:set(sysbench.rand.uniform(1, last)) end
  statement:execute()
end

function thread_done()
  connection:disconnect()
end
