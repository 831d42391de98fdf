//! rtrb, triple_buffer, flume.

use std::thread;

#[test]
fn rtrb_push_pop() {
    let (mut producer, mut consumer) = rtrb::RingBuffer::new(2);
    let thread = thread::spawn(move || {
        producer.push(1).unwrap();
        producer.push(2).unwrap();
    });
    let first = consumer.pop().ok();
    thread.join().unwrap();
    let rest: Vec<u32> = std::iter::from_fn(|| consumer.pop().ok()).collect();
    assert_eq!(first.into_iter().chain(rest).collect::<Vec<_>>(), [1, 2]);
}

#[test]
fn triple_buffer_publish() {
    let (mut input, mut output) = triple_buffer::triple_buffer(&0);
    let thread = thread::spawn(move || {
        input.write(1);
        input.write(2);
    });
    let (one, two) = (*output.read(), *output.read());
    assert!(one <= two);
    thread.join().unwrap();
    assert_eq!(*output.read(), 2);
}

#[test]
fn flume_try() {
    let (sender, receiver) = flume::unbounded();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    let first = receiver.try_recv().ok();
    thread.join().unwrap();
    assert_eq!(first.or_else(|| receiver.try_recv().ok()), Some(1));
}

#[test]
fn flume_wait() {
    let (sender, receiver) = flume::unbounded();
    let thread = thread::spawn(move || sender.send(1).unwrap());
    assert_eq!(receiver.recv(), Ok(1));
    thread.join().unwrap();
}

#[test]
fn flume_bounded() {
    let (sender, receiver) = flume::bounded(1);
    let thread = thread::spawn(move || {
        sender.send(1).unwrap();
        sender.send(2).unwrap();
    });
    assert_eq!(receiver.recv(), Ok(1));
    assert_eq!(receiver.recv(), Ok(2));
    thread.join().unwrap();
}
