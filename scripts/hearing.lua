-- hearing.lua: tells how far the hearing of a stopped sale has got.
--
-- KEYS (one hash slot)
--   1  sale       hash
--   2  witnesses  sorted set  witness -> when it attended last, milliseconds since 1970
--   3  heard      hash  witness that has said all -> "epoch sequence", the highest mark it has seen
-- ARGV
--   1  epoch  the rebuild's
--   2  alive  for how many milliseconds after it has attended a witness counts as living
--
-- Returns an array: 1 (it stands still), 0 (superseded: a newer rebuild has begun, or the sale is open at this epoch or a
-- later one) or 2 (the rebuild is gone: this Redis no longer knows that it has begun); for how many milliseconds it has
-- stood still; epoch and sequence of the highest mark that was handed in; and the witnesses that live and have not said all.

local epoch, alive = tonumber(ARGV[1]), tonumber(ARGV[2])
if not (epoch and alive) then
  return redis.error_reply('ERR hearing.lua: bad arguments')
end
local sale = redis.call('HMGET', KEYS[1], 'epoch', 'building', 'stopped')
local current, building = tonumber(sale[1] or '0') or 0, tonumber(sale[2] or '0') or 0
if current >= epoch or building > epoch then
  return {0, 0, 0, 0}
end
if building ~= epoch then
  return {2, 0, 0, 0}
end
local clock = redis.call('TIME')
local now = tonumber(clock[1]) * 1000 + math.floor(tonumber(clock[2]) / 1000)
local heard, high_epoch, high_seq = {}, 0, 0
local said = redis.call('HGETALL', KEYS[3])
for i = 1, #said, 2 do
  heard[said[i]] = true
  local e, s = string.match(said[i + 1], '^(%d+) (%d+)$')
  e, s = tonumber(e) or 0, tonumber(s) or 0
  if e > high_epoch or e == high_epoch and s > high_seq then
    high_epoch, high_seq = e, s
  end
end
local answer = {1, now - (tonumber(sale[3] or '') or now), high_epoch, high_seq}
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], string.format('%.0f', now - alive), '+inf')) do
  if not heard[name] then
    answer[#answer + 1] = name
  end
end
return answer
