-- report_heartbeat.lua: a reporter's heartbeat, by Redis's own clock; returns which sales were stopped for a rebuild since
-- its last one.
--
-- KEYS (one hash slot)
--   1  reporters  sorted set  reporter -> time of its last heartbeat, milliseconds since 1970
--   2  stops      sorted set  sale -> when it was stopped last, milliseconds since 1970. A sale's name is its voucher's id
-- ARGV
--   1  reporter
--   2  keep   for how many milliseconds heartbeats and stops are kept
--   3  since  now, as its last heartbeat was answered; 0 for the first
--   4  quiet  how many milliseconds ago that was, and some more: the clock may have been set back since
--
-- Returns a flat array: now, milliseconds since 1970; then sale and time of the stop, for each stop that is there and may be
-- new. One may come twice. Older ones than are kept are removed afterwards. The error FORMAT where the partition has
-- other data (format.lua).
--
-- A key of another type is removed: somebody wrote there by hand, and no recovery round could be held.
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
-- Far in the future: the clock was set back since.
redis.call('ZREMRANGEBYSCORE', KEYS[1], ahead, '+inf')
redis.call('ZREMRANGEBYSCORE', KEYS[2], ahead, '+inf')
local answer = {now}
local from = whole(math.min(since, now - quiet))
local stops = redis.call('ZRANGEBYSCORE', KEYS[2], from, '+inf', 'WITHSCORES')
for i = 1, #stops, 2 do
  answer[i + 1], answer[i + 2] = stops[i], tonumber(stops[i + 1])
end
-- Only now: if no instance has sent a heartbeat for longer than stops are kept, the first one still hears of them.
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', old)
return answer
