-- Frees a lock whoever has it, and wakes those who wait for it. Its holder learns of it when he renews or looks next.
-- The counter of tokens stays.
--
-- KEYS[1]  the lock, of any type
-- ARGV[1]  channel on which waiters listen
--
-- Returns  1  it was held
--          0  it was free; nothing was changed, nothing was published

if redis.call('DEL', KEYS[1]) == 0 then
  return 0
end
redis.call('PUBLISH', ARGV[1], 'forced')
return 1
