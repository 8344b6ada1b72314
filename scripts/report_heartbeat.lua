-- report_heartbeat.lua: a reporter's heartbeat, by Redis's own clock; returns which sales were stopped for a rebuild
-- lately.
--
-- KEYS (one hash slot)
--   1  witnesses  sorted set  reporter -> time of its last heartbeat, milliseconds since 1970
--   2  stops      sorted set  voucher id -> when its sale was stopped last, milliseconds since 1970
-- ARGV
--   1  reporter
--   2  keep  for how many milliseconds heartbeats and stops are kept
--
-- Returns a flat array: voucher id and time of the stop, milliseconds since 1970, for each stop that is kept.

local keep = tonumber(ARGV[2])
if not keep or #ARGV ~= 2 then
  return redis.error_reply('ERR report_heartbeat.lua: bad arguments')
end
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', now), ARGV[1])
local old = string.format('(%.0f', now - keep)
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', old)
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', old)
-- Far in the future: the clock was set back since.
redis.call('ZREMRANGEBYSCORE', KEYS[1], string.format('(%.0f', now + keep), '+inf')
local answer = {}
for i, text in ipairs(redis.call('ZRANGE', KEYS[2], 0, -1, 'WITHSCORES')) do
  answer[i] = tonumber(text)
end
return answer
