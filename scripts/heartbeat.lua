-- heartbeat.lua: records a consumer's heartbeat by Redis's clock, so that the instances' clocks do not matter.
--
-- KEYS
--   1  consumers  sorted set  consumer name -> time of its last heartbeat, milliseconds since 1970
-- ARGV
--   1  name
--
-- Returns 1; the error FORMAT if the partition has other data (format.lua).
--
-- Needs: clock, format, number

local refused = other_data(true)
if refused then
  return refused
end
local now = clock()
redis.call('ZADD', KEYS[1], whole(now), ARGV[1])
return 1
