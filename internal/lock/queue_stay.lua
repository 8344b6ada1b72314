-- Keeps the place of a request that waits, and wakes whose turn it is: so the queue goes on when its first has died, or
-- a holder whose lease was over, or a message was lost. Repeating it is harmless. After queue.lua and fair.lua, or
-- readwrite.lua, whose keys it has.
--
-- ARGV[1]  request
-- ARGV[2]  how long the place is kept, milliseconds
-- ARGV[3]  what waiters' channels begin with
--
-- Returns  1  the request has its place
--          0  it has none (any more), and must ask again

local now, kept = clock(), 0
for _, queue in ipairs(queues) do
  if redis.call('ZSCORE', queue, ARGV[1]) then
    keep(queue, ARGV[1], now, ARGV[2])
    kept = 1
  end
end
wake(ARGV[3], now)
return kept
