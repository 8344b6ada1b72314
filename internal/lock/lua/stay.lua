-- Renews the places of a process that waits for a lock, and returns those of its requests whose turn it is. So the
-- queue goes on if its first waiter died, a holder's lease ended or a message was lost. Safe to repeat. Follows
-- queue.lua and fair.lua or readwrite.lua, and has their keys.
--
-- ARGV[1]  process
-- ARGV[2]  how long its places last from now, milliseconds
-- ARGV[3]  prefix of the waiters' channels
-- ARGV[4]  one of its places, to check that it exists
-- ARGV[5]… "request owner" of each waiter that has left, whose place is removed
--
-- Returns  {lapsed, more, ms, "request owner"...}
--          lapsed         1: places were lost, and all requests of the process must ask again; else 0
--          more           1: more dead places remain to be removed; else 0
--          ms             how long the lock stays taken if its holders do not renew; below 0 if it is free
--          request owner  whose turn it is

local now = clock()
local lapsed = keep(ARGV[1], now, ARGV[2])
local gone = false
for i = 5, #ARGV do
  gone = vacate(ARGV[1] .. ' ' .. ARGV[i]) or gone
end
local more = prune(now)
local turns = due()
if gone then
  tell(ARGV[3], turns)
end
local found = false
for _, queue in ipairs(queues) do
  found = found or redis.call('ZSCORE', queue, ARGV[4])
end
local taken = redis.call('PTTL', KEYS[1])
if KEYS[7] then
  taken = math.max(redis.call('PTTL', KEYS[7]), redis.call('PTTL', KEYS[8]))
end
if redis.call('EXISTS', unpack(queues)) == 0 then
  redis.call('DEL', KEYS[5]) -- the last waiter has just left
end
local answer = {(lapsed or not found) and 1 or 0, more and 1 or 0, taken}
for _, place in ipairs(turns) do
  local process, request = string.match(place, '^(%S+) (.*)$')
  if process == ARGV[1] then
    table.insert(answer, request)
  end
end
return answer
