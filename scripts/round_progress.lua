-- round_progress.lua: reads the progress of a stopped sale's recovery round.
--
-- KEYS (one hash slot)
--   1  sale       hash
--   2  reporters  sorted set  reporter -> time of its last heartbeat, milliseconds since 1970
--   3  reported   hash  reporter that is done -> "epoch sequence", the highest mark it has seen
-- ARGV
--   1  epoch  the rebuild's
--   2  alive  how many milliseconds after its last heartbeat a reporter counts as living
--
-- Returns an array: 1 (stopped), 0 (superseded: a newer rebuild has begun, or the sale is open at this epoch or a later
-- one) or 2 (the rebuild is gone: this Redis does not know that it has begun); how many milliseconds it has been
-- stopped; epoch and sequence of the highest reported mark; and the living reporters that are not done. The numbers are
-- 0 unless the first is 1.
--
-- Needs: clock, number, rebuild

local epoch, alive = tonumber(ARGV[1]), tonumber(ARGV[2])
if not (epoch and alive) then
  return redis.error_reply('ERR round_progress.lua: bad arguments')
end
local state = rebuild_state(KEYS[1], epoch)
if state ~= UNDER_WAY then
  return {state, 0, 0, 0}
end
local now = clock()
local done, high_epoch, high_seq = {}, 0, 0
local reports = redis.call('HGETALL', KEYS[3])
for i = 1, #reports, 2 do
  done[reports[i]] = true
  local e, s = string.match(reports[i + 1], '^(%d+) (%d+)$')
  e, s = tonumber(e) or 0, tonumber(s) or 0
  if e > high_epoch or e == high_epoch and s > high_seq then
    high_epoch, high_seq = e, s
  end
end
local answer = {1, now - (number(redis.call('HGET', KEYS[1], 'stopped')) or now), high_epoch, high_seq}
-- A heartbeat in the far future does not count: the clock was set back since.
local from, to = whole(now - alive), whole(now + alive)
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[2], from, to)) do
  if not done[name] then
    answer[#answer + 1] = name
  end
end
return answer
