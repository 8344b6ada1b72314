-- exchange_spending.lua: publishes how much of their budgets callers spent at this instance, and returns the other
-- instances' news.
--
-- KEYS
--   1  spending  sorted set  "instance time budgets" -> time of publication, microseconds since 1970 by Redis's clock
-- ARGV
--   1  instance  unique to the process, without spaces
--   2  after     the cursor of the last call; 0 for the first
--   3  keep      how long an entry is kept, milliseconds
--   4  most      how many entries are returned at most
--   5  budgets   what was spent here; empty: nothing
--
-- Returns a flat array: the next cursor; then, for each entry of another instance after the cursor, oldest first, how
-- many microseconds ago it was published, and its content. Do not repeat it: the others would get the entry twice.
--
-- Times in the set always rise, even if the clock is set back. A key of another type, written by hand, is removed.
--
-- Needs: keys, number

local after, keep, most = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
if not (after and keep and most) or #ARGV ~= 5 then
  return redis.error_reply('ERR exchange_spending.lua: bad arguments')
end
remove_unless('zset', KEYS[1])
local time = redis.call('TIME')
local now = tonumber(time[1]) * 1000000 + tonumber(time[2])
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', whole(now - keep * 1000))
redis.call('ZREMRANGEBYSCORE', KEYS[1], '(' .. whole(now + keep * 1000), '+inf')

local last = now
local highest = redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')
if highest[2] and tonumber(highest[2]) >= now then
  last = tonumber(highest[2]) + 1
end
local cursor = math.min(after, last) -- after > last: Redis has lost entries that the instance has seen

local own = ARGV[1] .. ' '
local told = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. whole(cursor), '+inf', 'WITHSCORES', 'LIMIT', 0, most)
local answer = { 0 }
for i = 1, #told, 2 do
  cursor = tonumber(told[i + 1])
  if string.sub(told[i], 1, #own) ~= own then
    answer[#answer + 1] = math.max(0, now - cursor)
    answer[#answer + 1] = told[i]
  end
end
answer[1] = whole(cursor)

if ARGV[5] ~= '' then
  local at = whole(last)
  redis.call('ZADD', KEYS[1], at, own .. at .. ' ' .. ARGV[5])
  redis.call('PEXPIRE', KEYS[1], 2 * keep)
end
return answer
