-- Frees a lock that has a queue, whoever has it, and wakes whose turn it is. Its holders learn of it when they renew or
-- look next. After queue.lua and fair.lua, or readwrite.lua, whose keys it has.
--
-- KEYS[1]  the holds, of any type
-- ARGV[1]  what waiters' channels begin with
--
-- Returns  1  it was held
--          0  it was free; nothing was changed, nothing was published

if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
wake(ARGV[1], clock())
return 1
