-- check_format.lua: says whether a partition has this ledger's data, and writes nothing.
--
-- Returns 1 (it has, or it is empty); the error FORMAT where the partition has other data.
--
-- Needs: format

return other_data(false) or 1
