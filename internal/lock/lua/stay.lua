-- Keeps the places of a process that waits for a lock, and says whose turn it is among its requests: so the queue goes
-- on when its first has died, or a holder whose lease was over, or a message was lost. Repeating it is harmless. After
-- queue.lua and fair.lua, or readwrite.lua, whose keys it has.
--
-- ARGV[1]  process
-- ARGV[2]  how long its places are kept, milliseconds
-- ARGV[3]  what waiters' channels begin with
-- ARGV[4]  one of its places, to see whether it is there
-- ARGV[5]… "request owner" of those that do not wait any more, whose places are removed
--
-- Returns  {lapsed, more, ms, "request owner"...}
--          1 or 0: some of its places were lost, and all its requests must ask again; 1 or 0: there are more dead to be
--          removed; until when the lock is taken if its holders do not renew, below 0 when it is not; whose turn it is

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
  redis.call('DEL', KEYS[5]) -- the last one has left meanwhile
end
local answer = {(lapsed or not found) and 1 or 0, more and 1 or 0, taken}
for _, place in ipairs(turns) do
  local process, request = string.match(place, '^(%S+) (.*)$')
  if process == ARGV[1] then
    table.insert(answer, request)
  end
end
return answer
