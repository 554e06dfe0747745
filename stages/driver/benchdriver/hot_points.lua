-- The same hundred adjacent rows again and again: a prepared IN list with a parameter for each id.
sysbench.cmdline.options = {
   tables = {"number of tables", 1},
   table_size = {"rows per table", 100000},
   range_size = {"not used", 100}
}

local ids = 100

function thread_init()
   connection = sysbench.sql.driver():connect()
   local marks = {}
   for i = 1, ids do marks[i] = "?" end
   statement = connection:prepare("SELECT c FROM sbtest1 WHERE id IN (" .. table.concat(marks, ",") .. ")")
   params = {}
   for i = 1, ids do params[i] = statement:bind_create(sysbench.sql.type.INT) end
   statement:bind_param(unpack(params))
end

function event()
   local first = math.floor(sysbench.opt.table_size / 2)
   for i = 1, ids do params[i]:set(first + i) end
   statement:execute()
end

function thread_done()
   statement:close()
   connection:disconnect()
end
