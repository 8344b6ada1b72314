-- heartbeat.lua: a consumer's heartbeat, by Redis's own clock, so that the clocks of instances do not matter.
--
-- KEYS
--   1  consumers  sorted set  consumer name -> time of its last heartbeat, milliseconds since 1970
-- ARGV
--   1  name
--
-- Returns 1.

local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
return 1
