-- check_format.lua: checks whether a partition has this ledger's data. It writes nothing.
--
-- Returns 1 (it has, or it is empty); the error FORMAT if the partition has other data.
--
-- Needs: format

return other_data(false) or 1
