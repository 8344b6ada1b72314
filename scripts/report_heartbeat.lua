-- report_heartbeat.lua: records a reporter's heartbeat by Redis's clock, and returns which sales were stopped for a
-- rebuild since the last one.
--
-- KEYS (one hash slot)
--   1  reporters  sorted set  reporter -> time of its last heartbeat, milliseconds since 1970
--   2  stops      sorted set  sale (its voucher's id) -> time of its last stop, milliseconds since 1970
-- ARGV
--   1  reporter
--   2  keep   how long heartbeats and stops are kept, milliseconds
--   3  since  the time that the last heartbeat returned; 0 for the first
--   4  quiet  at least how many milliseconds ago that was, in case the clock was set back since
--
-- Returns a flat array: Redis's time in milliseconds since 1970; then sale and time of each stop that may be new to the
-- reporter. A stop may be returned twice. Stops older than keep are removed afterwards. The error FORMAT if the
-- partition has other data (format.lua).
--
-- A key of another type, written by hand, is removed: otherwise there could be no recovery round.
--
-- Needs: clock, format, keys, number

local keep, since, quiet = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not (keep and since and quiet) or #ARGV ~= 4 then
  return redis.error_reply('ERR report_heartbeat.lua: bad arguments')
end
local refused = other_data(true)
if refused then
  return refused
end
for _, key in ipairs(KEYS) do
  remove_unless('zset', key)
end
local now = clock()
redis.call('ZADD', KEYS[1], whole(now), ARGV[1])
local old, ahead = '(' .. whole(now - keep), '(' .. whole(now + keep)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', old)
-- Heartbeats from the far future: the clock was set back since.
redis.call('ZREMRANGEBYSCORE', KEYS[1], ahead, '+inf')
redis.call('ZREMRANGEBYSCORE', KEYS[2], ahead, '+inf')
local answer = {now}
local from = whole(math.min(since, now - quiet))
local stops = redis.call('ZRANGEBYSCORE', KEYS[2], from, '+inf', 'WITHSCORES')
for i = 1, #stops, 2 do
  answer[i + 1], answer[i + 2] = stops[i], tonumber(stops[i + 1])
end
-- Last, so that the first heartbeat after a long silence of all instances still returns old stops.
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', old)
return answer
