-- create_group.lua: creates the consumer group of a partition's recorders, and the stream if necessary, so that
-- everything in the stream will be delivered.
--
-- KEYS
--   1  orders  stream
-- ARGV
--   1  group
--
-- Returns 1 (created) or 0 (it existed); the error FORMAT if the partition has other data.
--
-- Needs: format

local refused = other_data(true)
if refused then
  return refused
end
local created = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if not created.err then
  return 1
end
return string.find(created.err, 'BUSYGROUP', 1, true) and 0 or created
